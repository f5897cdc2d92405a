"""What each operation computes, one file per chapter."""

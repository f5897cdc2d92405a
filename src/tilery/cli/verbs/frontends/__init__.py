"""Verbs about programs in other languages, whose compilers make Tile IR."""

"""The fast CPU engine: Tile IR to LLVM IR, compiled for the host and run on all cores."""

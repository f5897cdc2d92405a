"""Read, write, inspect and check CUDA Tile IR."""

"""Stand-ins for what cuTile programs use beside cuTile: torch on a GPU, CuPy, `triton.testing` and NVIDIA's `cuda`."""

"""Products of loops as warp-specialised kernels: one warp copies operands ahead, the others multiply."""

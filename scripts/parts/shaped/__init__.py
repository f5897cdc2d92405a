"""Kernels for `scripts/hand_shaped.py`: families of shapes that random generation does not reach."""

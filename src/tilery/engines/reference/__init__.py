"""The reference engine: exact results, by NumPy, with the tile blocks of a launch batched."""

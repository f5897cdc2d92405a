"""Matrix products: of floats, of pairs of bf16, and of 8-bit integers."""

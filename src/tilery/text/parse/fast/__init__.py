"""The fast path of the parser: canonical lines, read by generated functions."""

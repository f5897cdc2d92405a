"""Arithmetics that a machine can compute with instead of floats."""

"""Comparing two commits by the instructions that they execute."""

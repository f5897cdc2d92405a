"""Engines execute modules: the registry, what engines share, and the reference engine."""

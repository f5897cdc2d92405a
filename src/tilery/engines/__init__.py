"""Engines execute modules."""

"""Arithmetic on arrays: pure functions that know element types, not operations."""

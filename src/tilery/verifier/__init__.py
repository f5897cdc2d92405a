"""Verification: whether a module is legal, and what is wrong with it."""

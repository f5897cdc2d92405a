"""Verbs that need a GPU."""

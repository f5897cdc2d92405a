"""Modules to text."""

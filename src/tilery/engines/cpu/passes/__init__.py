"""Passes over the loop IR. Each changes a kernel in place; the interpreter computes the same before and after it."""

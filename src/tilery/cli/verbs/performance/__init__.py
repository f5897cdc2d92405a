"""Verbs about the speed of kernels."""

"""Tests of the Triton engine."""

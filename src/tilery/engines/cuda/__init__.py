"""Launching compiled kernels through the CUDA driver."""

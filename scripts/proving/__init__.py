"""Kernels, faults and campaigns that measure `tilery prove`."""

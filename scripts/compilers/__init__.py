"""Reports about what NVIDIA's compiler says of kernels."""

"""The Triton engine: modules become Triton IR, which Triton compiles for NVIDIA and AMD GPUs."""

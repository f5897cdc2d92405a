"""NVIDIA's own compiler, tileiras, as an engine. The CUDA Toolkit has it, or `pip install 'tilery[nvidia]'`."""

"""The arithmetic of element-wise operations, on vectors of LLVM."""

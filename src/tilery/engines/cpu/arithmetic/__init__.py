"""What element-wise operations compute, on vectors of LLVM."""

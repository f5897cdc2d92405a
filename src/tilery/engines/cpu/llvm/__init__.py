"""From loop IR to LLVM IR as text."""

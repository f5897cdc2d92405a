"""Scripts about the debugger."""

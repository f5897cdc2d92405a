"""Element formats and exact float arithmetic."""

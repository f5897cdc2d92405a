"""Text to modules."""

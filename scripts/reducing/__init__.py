"""Scripts that measure the reducer."""

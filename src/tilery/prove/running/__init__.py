"""Running programs on another arithmetic, or in their own types."""

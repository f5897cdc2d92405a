"""Parts of tiles."""

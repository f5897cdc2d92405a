"""Parts that several scripts share."""

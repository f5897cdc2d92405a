"""The reference manual, as data and as Markdown."""

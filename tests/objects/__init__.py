"""Types, attributes and operations as Python objects."""

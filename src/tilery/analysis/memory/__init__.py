"""Integers and addresses as forms, and the memory that accesses touch."""

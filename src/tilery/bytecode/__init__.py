"""Tile IR bytecode: the container, the tables, and every operation's layout at every version."""

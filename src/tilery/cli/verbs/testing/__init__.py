"""The verbs for people who test compilers."""

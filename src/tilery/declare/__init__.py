"""The declaration language: one decorated class per operation, from which everything else is derived."""

"""The loop IR of the CPU engine: nodes, verifier, printer and interpreter."""

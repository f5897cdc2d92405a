"""Code that engines share: launches and their checks, arguments and memory, limits and statistics, and errors."""

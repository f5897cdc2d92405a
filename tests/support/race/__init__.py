"""Small programs with and without races, and a search for races by brute force."""

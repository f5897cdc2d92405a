"""Races: the check, what happens before what, the history of each byte, and tokens that order nothing."""

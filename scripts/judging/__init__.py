"""Campaigns of the judge, and the catalogue that they run."""

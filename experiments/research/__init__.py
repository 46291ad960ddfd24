"""Measurements of guarantees: how often bounds fail, how wide they are, how often drift is detected."""

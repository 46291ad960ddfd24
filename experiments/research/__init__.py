"""Measurements for docs/theory.md: how often bounds fail, and how often drift is detected."""

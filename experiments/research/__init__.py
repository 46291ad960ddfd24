"""Measurements behind docs/theory.md: how often bounds miss, and how often drift is detected."""

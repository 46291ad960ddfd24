"""Confidence bounds: widths and their schedules, betting, and the theorems as numbers."""

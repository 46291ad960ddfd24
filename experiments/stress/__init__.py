"""Fault injection: kills, flipped bits, and long mixed use."""

"""Fault injection: invalid calls, flipped bits, kills, and long mixed use."""

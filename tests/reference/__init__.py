"""Slow, obvious twins of fast kernels, and what else tests share."""

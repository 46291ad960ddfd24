"""Slow, obvious references of fast kernels, and what else tests share."""

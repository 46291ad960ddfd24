"""The algorithms that the paper compares with, and others from the literature."""

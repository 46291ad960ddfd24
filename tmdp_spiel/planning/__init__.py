"""Finds the best plan for given estimates and bounds, by full passes over the tree or incrementally."""

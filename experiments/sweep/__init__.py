"""Sweeps: configurations, runs, the store of results, executors, curves."""

"""The machinery of any set of runs: a configuration in, a run, the store of results, executors, curves."""

"""What the sweeps share: the experiments as data, one run, the store of results, executors, tables and figures."""

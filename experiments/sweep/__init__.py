"""What the sweeps share: the paper's experiments as data, one run, the store of results, executors, tables and figures."""

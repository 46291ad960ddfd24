"""The paper's experiments: settings and claims as data, the flags that select them, tables and figures."""

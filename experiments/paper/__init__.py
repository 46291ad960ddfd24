"""The paper's experiments: settings and claims as data, the flags that choose among them, tables and figures."""

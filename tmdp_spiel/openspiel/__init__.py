"""OpenSpiel games: loading, trees, policies, equilibria, solvers, opponents and agents."""

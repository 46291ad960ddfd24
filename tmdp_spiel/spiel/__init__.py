"""Where OpenSpiel is met: games, opponents, trees, policies, solvers, and exploitability."""

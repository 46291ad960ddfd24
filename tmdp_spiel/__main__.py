"""python -m tmdp_spiel: what there is."""

import tmdp_spiel as ts

print(
    f"""tmdp-spiel {ts.__version__}: how exploitable is my agent? Best responses in OpenSpiel games, with guarantees.

  tmdp-exploit --game=leduc --opponent=my_policy.json --report=report.html
  tmdp-exploit --game=leduc --opponent=my_module:MyBot --seconds=60
  tmdp-exploit --help                                       all flags

In Python: import tmdp_spiel as ts; print(ts.exploit("leduc", my_policy_or_bot)); help(ts) lists the rest.
From a checkout, python -m experiments.<name> --help: reproduce (the paper), learn, compare, interval,
solve_rbt; more in the folders examples, benchmarks, research, stress."""
)

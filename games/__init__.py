"""Games of our own, registered with OpenSpiel."""

from tmdp_spiel.games import rbt as _rbt  # registers python_rbt

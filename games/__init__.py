"""Games of our own, registered with OpenSpiel; what they bring beside their rules is registered with spiel."""

from tmdp_spiel.games import rbt  # noqa: F401 (registers python_rbt)

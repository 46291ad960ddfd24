"""Games of our own, registered with OpenSpiel; what they bring beside their rules is registered with spiel."""

from tmdp_spiel.games import phantom, public_action, rbt  # noqa: F401 (registers them)

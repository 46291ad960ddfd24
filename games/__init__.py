"""Additional games, and exact sequence forms and equilibria of OpenSpiel's games; importing this registers them."""

from tmdp_spiel.games import phantom, public_action, rbt  # noqa: F401 (registers them)

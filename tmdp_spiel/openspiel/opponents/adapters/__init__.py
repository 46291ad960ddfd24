"""Agents of other libraries, processes and servers as opponents."""

from tmdp_spiel.openspiel.opponents.adapters.acpc import ACPCBot
from tmdp_spiel.openspiel.opponents.adapters.networks import Network
from tmdp_spiel.openspiel.opponents.adapters.questions import HTTPBot, ProcessBot
from tmdp_spiel.openspiel.opponents.adapters.rlcard import RLCARD_GAMES

__all__ = ["RLCARD_GAMES", "ACPCBot", "HTTPBot", "Network", "ProcessBot"]

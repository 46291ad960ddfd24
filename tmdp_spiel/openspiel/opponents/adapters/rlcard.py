"""Agents of RLCard in the games that both have, through universal_poker.

RLCard's Leduc and limit hold'em have blinds of 1 and 2, so they differ from OpenSpiel's leduc_poker; RLCARD_GAMES has
them as game strings. Three differences remain, for every agent. (1) In RLCard a later round is begun by the player
after the last one to act; in universal_poker it is always begun by the same player. The agents do not see who began.
(2) RLCard lets a player fold when there is nothing to call; universal_poker does not, and such a fold is played as a
check. (3) RLCard divides the winnings by the big blind, 2; here utilities are in chips.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as policy_lib

from tmdp_spiel.openspiel.opponents.adapters.acpc import betting_and_cards
from tmdp_spiel.openspiel.opponents.bots import bot_name, first_decision

RLCARD_GAMES = {
    "leduc-holdem": (
        "universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 2,raiseSize=2 4,firstPlayer=1 1,maxRaises=2 2,"
        "numSuits=2,numRanks=3,numHoleCards=1,numBoardCards=0 1)"
    ),
    "limit-holdem": (
        "universal_poker(betting=limit,numPlayers=2,numRounds=4,blind=1 2,raiseSize=2 2 4 4,firstPlayer=1 1 1 1,"
        "maxRaises=4 4 4 4,numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1)"
    ),
}
ACTIONS = ("call", "raise", "fold", "check")  # RLCard's numbers
_FOLD, _CALL, _BET = range(3)  # OpenSpiel's
_LEDUC_RANKS = dict(zip("234", "JQK"))


def is_rlcard_agent(source) -> bool:
    """Whether it has the methods of an RLCard agent; RLCard is not imported for this."""
    return callable(getattr(source, "eval_step", None)) and hasattr(source, "use_raw")


class _Observation(np.ndarray):
    """An array that RLCard's CFR agents can convert to a key with any version of NumPy."""

    tostring = np.ndarray.tobytes


def rlcard_state(state: pyspiel.State, kind: str) -> dict[str, Any]:
    """What RLCard's environment passes to the player who is to act.

    Args:
        state: of the game string RLCARD_GAMES[kind].
        kind: "leduc-holdem" or "limit-holdem".
    """
    player = state.current_player()
    betting, cards = betting_and_cards(state)
    hands, _, board = cards.partition("/")
    own, public = _cards(hands.split("|")[player], kind), _cards(board.replace("/", ""), kind)
    chips = [int(spent) for spent in re.findall(r"P\d: (\d+)", str(state).partition("Spent:")[2])[:2]]
    legal = state.legal_actions()
    calls = chips[player] < max(chips)
    names = ["call"] * calls + ["raise"] * (_BET in legal) + ["fold"] + ["check"] * (not calls)
    raw: dict[str, Any] = {"all_chips": chips, "my_chips": chips[player], "legal_actions": names}
    if kind == "leduc-holdem":
        raw |= {"hand": own[0], "public_card": public[0] if public else None, "current_player": player}
        observed = np.zeros(36)
        observed["JQK".index(own[0][1])] = 1
        if public:
            observed[3 + "JQK".index(public[0][1])] = 1
        observed[6 + chips[player]] = 1
        observed[21 + sum(chips) - chips[player]] = 1
    else:
        raises = [each.count("r") for each in betting.split("/")]
        raises += [0] * (4 - len(raises))
        raw |= {"hand": own, "public_cards": public, "raise_nums": raises}
        observed = np.zeros(72)
        observed[[13 * "SHDC".index(card[0]) + "A23456789TJQK".index(card[1]) for card in own + public]] = 1
        for i, number in enumerate(raises):
            observed[52 + 5 * i + number] = 1
    return {
        "obs": observed.view(_Observation),
        "legal_actions": {ACTIONS.index(name): None for name in names},
        "raw_obs": raw,
        "raw_legal_actions": names,
        "action_record": [],
    }


def _cards(text: str, kind: str) -> list[str]:
    """Cards such as "2c3d" as RLCard writes them, "SJ" or "S2"."""
    found = []
    for rank, suit in zip(text[::2], text[1::2]):
        found.append(("SH"["cd".index(suit)] + _LEDUC_RANKS[rank]) if kind == "leduc-holdem" else suit.upper() + rank)
    return found


class RLCardAgent:
    """An agent of RLCard in a game of OpenSpiel.

    Args:
        game: one of RLCARD_GAMES.
        agent: with eval_step(state).
    """

    def __init__(self, game: pyspiel.Game, agent):
        kinds = {str(pyspiel.load_game(string)): kind for kind, string in RLCARD_GAMES.items()}
        if str(game) not in kinds:
            known = "; ".join(f"{kind}: {string}" for kind, string in RLCARD_GAMES.items())
            raise ValueError(
                f"{bot_name(agent)} is an agent of RLCard, whose games differ from {game}: give a game of "
                f"ts.adapters.RLCARD_GAMES ({known})"
            )
        self.__name__, self._agent, self._kind = bot_name(agent), agent, kinds[str(game)]

    def answer(self, state: pyspiel.State) -> tuple[int, dict[int, float] | None]:
        """Its action at a state, and the probabilities of all actions if it gives them."""
        shown = rlcard_state(state, self._kind)
        action, details = self._agent.eval_step(shown)
        name = action if isinstance(action, str) else ACTIONS[int(action)]
        chosen = self._action(name, state)
        if isinstance(details, dict) and "probs" in details:
            known = dict.fromkeys(state.legal_actions(), 0.0)
            for each, probability in details["probs"].items():
                known[self._action(each, state)] += probability
            return chosen, known
        # A DQN gives its values, and plays the best action.
        return chosen, {chosen: 1.0} if isinstance(details, dict) and "values" in details else None

    def _action(self, name: str, state: pyspiel.State) -> int:
        action = {"call": _CALL, "check": _CALL, "raise": _BET, "fold": _FOLD}.get(name, -1)
        if action == _FOLD and _FOLD not in state.legal_actions():
            return _CALL
        if action not in state.legal_actions():
            raise ValueError(f"{self.__name__} returned {name!r}, which is not legal here")
        return action

    def step(self, state: pyspiel.State) -> int:
        return self.answer(state)[0]


class RLCardPolicy(policy_lib.Policy):
    """An agent of RLCard that gives its probabilities, as a policy."""

    def __init__(self, game: pyspiel.Game, agent: RLCardAgent, player: int):
        super().__init__(game, [player])
        self.__name__, self._agent = agent.__name__, agent

    def action_probabilities(self, state, player_id=None):
        known = self._agent.answer(state)[1]
        if known is None:
            raise ValueError(f"{self.__name__} did not give its probabilities, although it did before")
        return known


def rlcard_player(game: pyspiel.Game, agent, player: int) -> RLCardPolicy | RLCardAgent:
    """A policy if the agent gives its probabilities, otherwise a bot."""
    adapted = RLCardAgent(game, agent)
    state = first_decision(game, player)
    known = None if state is None else adapted.answer(state)[1]
    return adapted if known is None else RLCardPolicy(game, adapted, player)

"""Any agent as a policy table: one probability per sequence of its player in a sequence form.

The agent is queried once per information state. Functions and networks are queried in batches of tensors, which the
form makes without a pyspiel state; OpenSpiel policies are queried state by state, which is slower. Answers are checked:
a probability for an illegal action, a sum other than one, NaN, or a missing state raises an error that names the state.
"""

from __future__ import annotations

import json
import math
import os
import pathlib
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as policy_lib, rl_agent_policy

from tmdp_spiel.core import storage
from tmdp_spiel.openspiel.ask_agents import (
    ask_histories,
    ask_in_batches,
    ask_states,
    check_width,
    game_of,
    network_of,
)
from tmdp_spiel.openspiel.build import CannotEnumerateError
from tmdp_spiel.openspiel.distributions import read_distribution
from tmdp_spiel.openspiel.load_game import game_title, load_game
from tmdp_spiel.openspiel.opponents.adapters.networks import OUTPUTS, NetworkPolicy, as_network, is_network_file
from tmdp_spiel.openspiel.opponents.agent_policies import agent_policy, is_agent
from tmdp_spiel.openspiel.opponents.fixed import answers_as, is_uniform
from tmdp_spiel.openspiel.opponents.resolve import resolve_opponent
from tmdp_spiel.openspiel.policy_files import FilePolicy, read_policy, table_policy
from tmdp_spiel.openspiel.registry import enumeration_of
from tmdp_spiel.openspiel.table_files import numbering
from tmdp_spiel.trees.sequence_form import SequenceForm, own_reach

_FORMAT = "tmdp-spiel policy table 1"
_ASKED_AT_HISTORIES = 10_000  # own sequences of both players; their histories are visited in seconds
_BATCH = 1 << 16  # states; larger batches were not faster with two layers of 64


class TablePolicy(policy_lib.Policy):
    """Policy tables as an OpenSpiel policy.

    tables: a mapping from player to one probability per sequence of form.trees[player]
    facts:  properties of the policy, such as its exploitability
    """

    def __init__(self, game: pyspiel.Game, form: SequenceForm, tables: Mapping[int, Any], facts: dict | None = None):
        super().__init__(load_game(game), sorted(tables))
        self.form = form
        self.tables = {player: form.check_policy(player, table) for player, table in tables.items()}
        self.facts = facts or {}

    def is_for(self, form: SequenceForm, player: int) -> bool:
        """Whether there is a table for this player, in the numbering of this sequence form."""
        own, other = self.form.trees[player], form.trees[player]
        same = own.game_string == other.game_string and own.has_the_states_of(other)
        return player in self.tables and same

    def action_probabilities(self, state, player_id=None):
        player = state.current_player() if player_id is None else player_id
        if player not in self.tables:
            raise KeyError(f"this policy is for player(s) {sorted(self.tables)}, not for {player}")
        tree = self.form.trees[player]
        number = tree.state_index(state.information_state_string(player))
        first, end = tree.first_sequence[number : number + 2]
        return {int(tree.action[j]): float(self.tables[player][j]) for j in range(first, end)}


def array_policy(game: pyspiel.Game, player: int, table) -> TablePolicy:
    """The policy of a player given by an array or a .npz file, as policy_table takes them."""
    form = enumeration_of(game).sequence_form(game)
    if form is None:
        raise TypeError(
            f"arrays are policy tables of games with an exact sequence form, but {game_title(game)} has none; give a "
            "table {information state: {action: probability}}"
        )
    return TablePolicy(game, form, {player: policy_table(form, player, table)})


def policy_table(
    form: SequenceForm,
    player: int,
    agent,
    *,
    outputs: str = "logits",
    with_mask: bool = False,
    batch_size: int = _BATCH,
    file: str | os.PathLike | None = None,
    max_seconds: float | None = None,
    progress: bool = True,
) -> np.ndarray:
    """The policy that an agent plays as `player`, as float64[J + 1], one probability per sequence.

    Args:
        form: the sequence form of the game; for networks and functions one that makes tensors, as the exact games do.
        player: whose policy.
        agent: a table (an array, a .npz file that `save_table` wrote, a .json file or a mapping {information state:
            {action: probability}}); "uniform" or "cfr+"; a network file (.onnx, TorchScript .pt); a torch.nn.Module, or
            an agent of open_spiel.python.pytorch (DQN, NFSP, PPO, PolicyGradient), in evaluation mode; a function of a
            float32 batch of tensors, in NumPy, JAX or torch; or another OpenSpiel agent or policy, which is queried
            state by state unless it is a table.
        outputs: what a network or function returns, one number per distinct action of the game: "logits" (the policy is
            the softmax over the legal actions), "probabilities" (which must be zero for illegal actions) or "values"
            (the policy plays the legal action with the largest value, the first of equal ones).
        with_mask: whether the function is called with the batch of legal-action masks as its second argument.
        batch_size: the number of states in a batch.
        file: where to store the table, as .npz. If the file exists, it is read and the agent is not queried.
        max_seconds: the longest that querying an agent state by state may take; otherwise a GameTooLargeError is
        raised.
        progress: show a bar, on a terminal.
    """
    if outputs not in OUTPUTS[:3]:
        raise ValueError(f"outputs must be one of {', '.join(OUTPUTS[:3])}, not {outputs!r}")
    if file is not None and pathlib.Path(file).exists():
        return load_table(file, form, player)
    if isinstance(agent, (str, os.PathLike)) and pathlib.Path(agent).suffix != ".npz":
        agent = _opened(form, player, agent)
    if answers_as(agent, TablePolicy) and agent.is_for(form, player):
        table = agent.tables[player]
    elif is_uniform(agent):
        table = form.uniform_policy(player)
    elif isinstance(agent, np.ndarray):
        table = form.check_policy(player, agent)
    elif isinstance(agent, (str, os.PathLike)):
        table = load_table(agent, form, player)
    elif form.strings_hold_more and _may_see_strings(agent):
        table = _at_all_histories(form, player, agent)
    elif isinstance(agent, Mapping):
        table = _table_of_strings(form, player, _strings(table_policy(agent, game_of(form))))
    elif (known := form.table_of(player, agent)) is not None:
        table = known
    elif (strings := _strings(agent)) is not None:
        table = _table_of_strings(form, player, strings)
    elif (found := network_of(form, player, agent, outputs)) is not None:
        if found.input_shape is not None:
            check_width(form, math.prod(found.input_shape))
        table = ask_in_batches(form, player, found, found.outputs, found.with_mask, batch_size, progress)
    elif is_agent(agent):
        table = ask_states(form, player, agent_policy(game_of(form), agent, player), max_seconds, progress)
    elif isinstance(agent, (policy_lib.Policy, pyspiel.Policy)):
        table = ask_states(form, player, agent, max_seconds, progress)
    elif callable(agent) and not isinstance(agent, type):
        table = ask_in_batches(form, player, agent, outputs, with_mask, batch_size, progress)
    else:
        raise TypeError(
            "an agent is a table (array, .npz, .json, mapping), a torch.nn.Module, a function of a batch of tensors or "
            f"an OpenSpiel policy, not a {type(agent).__name__}"
        )
    if file is not None:
        save_table(file, form, player, table)
    return table


def _opened(form: SequenceForm, player: int, name: str | os.PathLike):
    """The agent of a name or a file that resolve_opponent opens: "uniform", a policy file, a network file."""
    if is_network_file(str(name)):
        return as_network(str(name))
    if pathlib.Path(name).suffix == ".json":
        return read_policy(name, game_of(form))
    found = resolve_opponent(game_of(form), name, player=1 - player).players[player]
    if not found.known:
        raise TypeError(
            f"{found.title or name} can only be played against and has no exact policy table; ts.exploit plays "
            "against it"
        )
    return found.policy


def _may_see_strings(agent) -> bool:
    """Whether an agent may depend on information that is in the information-state strings but not in the tensors."""
    sees_tensors = (NetworkPolicy, rl_agent_policy.JointRLAgentPolicy, rl_agent_policy.RLAgentPolicy)
    return isinstance(agent, (Mapping, policy_lib.Policy, pyspiel.Policy)) and not answers_as(agent, *sees_tensors)


def _at_all_histories(form: SequenceForm, player: int, agent) -> np.ndarray:
    """The table of a policy whose strings contain more than the states of the form, if it does not depend on that."""
    policy = table_policy(agent, game_of(form)) if isinstance(agent, Mapping) else agent
    string = str(form.trees[player].game_string)
    what = f"the information-state strings of {string} contain both players' numbers of moves, but its tensors do not"
    if sum(tree.num_sequences for tree in form.trees) > _ASKED_AT_HISTORIES:
        raise CannotEnumerateError(
            f"{what}, and a {type(agent).__name__} may depend on it, so its exact policy table is not defined; "
            "give an array or .npz table, a torch module, or a function of tensors"
        )
    table = ask_histories(form, player, policy)
    if table is None:
        raise CannotEnumerateError(
            f"{what}, and this {type(agent).__name__} depends on it, so it has no exact policy table; "
            f"{string.rstrip(')')},obstype=reveal-numturns) is the game in which players know that number"
        )
    return table


# Tables on disk


def save_table(file: str | os.PathLike, form: SequenceForm, player: int, table) -> None:
    """Writes a policy table to a .npz file, atomically; without the entry of the root."""
    tree = form.trees[player]
    facts = {"format": _FORMAT, "game": tree.game_string, "player": player, "tree": numbering(tree)}
    with storage.replacing(file, "wb") as stream:
        np.savez(stream, facts=np.array(json.dumps(facts)), table=form.check_policy(player, table)[1:])


def load_table(file: str | os.PathLike, form: SequenceForm, player: int) -> np.ndarray:
    """The policy table in a file that `save_table` wrote for the same game and player."""
    tree = form.trees[player]
    try:
        with np.load(file, allow_pickle=False) as stored:  # reading an array checks its CRC-32
            facts, table = json.loads(str(stored["facts"])), stored["table"]
        if facts["format"] != _FORMAT:
            raise ValueError(f"another format, {facts['format']!r}")
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no policy table {file}") from None
    except (zipfile.BadZipFile, KeyError, ValueError, EOFError, TypeError) as error:
        raise ValueError(f"{file} is not a policy table ({error}); delete it to ask the agent again") from None
    if (facts["game"], facts["player"]) != (tree.game_string, player):
        raise ValueError(
            f"{file} holds the policy of player {facts['player']} of {facts['game']}, not of player {player} of "
            f"{tree.game_string}"
        )
    if facts["tree"] != numbering(tree):
        raise ValueError(f"{file} was written for another numbering of the states; delete it to ask the agent again")
    return form.check_policy(player, np.append(1.0, table))


# Tables by information-state strings


def _strings(agent) -> Mapping[str, Mapping[int, float]] | None:
    """{information state: {action: probability}} of a policy that stores such a table; None for other policies."""
    if answers_as(agent, FilePolicy):
        return agent.table
    if type(agent) is policy_lib.TabularPolicy and answers_as(agent, policy_lib.TabularPolicy):
        rows = agent.action_probability_array
        return {
            key: {int(a): float(rows[i, a]) for a in np.flatnonzero(rows[i])} for key, i in agent.state_lookup.items()
        }
    if answers_as(agent, pyspiel.TabularPolicy):
        return {key: dict(row) for key, row in agent.policy_table().items()}
    return None


def _table_of_strings(form: SequenceForm, player: int, strings) -> np.ndarray:
    """The table of a policy given by strings; states that the policy does not reach may be missing and are uniform."""
    tree = form.trees[player]
    table, given = form.uniform_policy(player), np.zeros(tree.num_states, np.bool_)
    for string, distribution in strings.items():
        try:
            state = tree.state_index(string)
        except KeyError:
            continue  # of another player; states that are missing are found below
        first, end = (int(each) for each in tree.first_sequence[state : state + 2])
        legal = tree.action[first:end].tolist()
        table[first:end], _ = read_distribution(distribution, legal, f"at state {string!r} of player {player}")
        given[state] = True
    reach = np.empty(tree.sequence_end)
    own_reach(form.levels[player], table, reach)
    missing = np.flatnonzero(~given & (reach[tree.parent] > 0))
    if len(missing):
        raise ValueError(
            f"the policy of player {player} is missing at a state that it can reach: "
            f"{tree.state_string(int(missing[0]))!r}"
        )
    return table

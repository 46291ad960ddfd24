"""Any agent as a policy table: one probability per sequence of its player in a sequence form.

The agent is queried once per information state. Functions and networks are queried in batches of tensors, which the
form makes without a pyspiel state; OpenSpiel policies are queried state by state, which is slower. Answers are checked:
a probability for an illegal action, a sum other than one, NaN, or a missing state raises an error that names the state.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
import os
import pathlib
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numba
import numpy as np
import pyspiel
from open_spiel.python import policy as policy_lib, rl_agent_policy

from tmdp_spiel.core import storage
from tmdp_spiel.openspiel.build import CannotEnumerateError
from tmdp_spiel.openspiel.games import enumeration_of, game_title, load_game
from tmdp_spiel.openspiel.opponents.adapters.networks import OUTPUTS, NetworkPolicy, as_network, is_network_file
from tmdp_spiel.openspiel.opponents.fixed import answers_as, is_uniform, read_distribution
from tmdp_spiel.openspiel.opponents.resolve import resolve_opponent
from tmdp_spiel.openspiel.opponents.wrappers import agent_policy, is_agent
from tmdp_spiel.openspiel.policy_files import FilePolicy, read_policy, table_policy
from tmdp_spiel.openspiel.query_agents import (
    check_width,
    game_of,
    network_of,
    query_histories,
    query_in_batches,
    query_states,
)
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.sequence_form import Levels, SequenceForm, exploitability, own_reach

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
        table = query_in_batches(form, player, found, found.outputs, found.with_mask, batch_size, progress)
    elif is_agent(agent):
        table = query_states(form, player, agent_policy(game_of(form), agent, player), max_seconds, progress)
    elif isinstance(agent, (policy_lib.Policy, pyspiel.Policy)):
        table = query_states(form, player, agent, max_seconds, progress)
    elif callable(agent) and not isinstance(agent, type):
        table = query_in_batches(form, player, agent, outputs, with_mask, batch_size, progress)
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
    table = query_histories(form, player, policy)
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
    return form.check_policy(player, table)


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


LEAST_PROBABILITY = 1e-3  # what is rarer is pruned, which makes the file smaller and the policy hardly worse
LEAST_REACH = 1e-7
_WEIGHTS_FORMAT = "tmdp-spiel tables 1"
_WHOLE = 65535


def numbering(tree: InfostateTree) -> str:
    """A hash of a tree's numbering of states and sequences, on which tables depend. In files it is without the root."""
    return storage.fingerprint(tree.player, tree.first_sequence - 1, tree.first_child[1:], tree.action[1:])


def compressed_weights(
    form: SequenceForm,
    tables: Sequence[np.ndarray],
    *,
    least_probability: float = LEAST_PROBABILITY,
    least_reach: float = LEAST_REACH,
) -> list[np.ndarray]:
    """uint16 weights of policy tables without their rarest parts.

    At every state the most likely action is kept. Another action is kept if its probability is at least
    `least_probability` and the player's reach of it is at least `least_reach`.
    """
    weights = []
    for player in (0, 1):
        table = form.check_policy(player, tables[player])
        reach = np.empty(len(table))
        own_reach(form.levels[player], table, reach)
        weight = np.zeros(len(table), np.uint16)
        _prune(form.levels[player], table, reach, least_probability, least_reach, weight)
        weights.append(weight)
    return weights


def tables_of_weights(form: SequenceForm, weights: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The policy tables of uint16 weights."""
    return [form.policy(player, weights[player].astype(np.float64)) for player in (0, 1)]


def write_tables(file: str | os.PathLike, form: SequenceForm, tables: Sequence[np.ndarray], **facts) -> dict:
    """Writes policy tables of both players to a small file, atomically.

    facts: further properties to record. The recorded values and exploitability are those of the rounded policies.
    Returns all recorded properties.
    """
    weights = compressed_weights(form, tables)
    found = exploitability(form, tables_of_weights(form, weights))
    head = {
        "game": form.trees[0].game_string,
        "trees": [numbering(tree) for tree in form.trees],
        "value": found.values[0],
        "best_responses": list(found.best_responses),
        "exploitability": found.exploitability,
        **facts,
    }
    planes = [(weight[1:] >> shift).astype(np.uint8).tobytes() for shift in (8, 0) for weight in weights]
    body = lzma.compress(b"".join(planes), preset=6)
    line = json.dumps({"format": _WEIGHTS_FORMAT, **head, "bytes": len(body), "sha256": _digest(head, body)})
    with storage.replacing(file, "wb") as stream:
        stream.write(line.encode() + b"\n" + body)
    return head


def read_tables(file: str | os.PathLike, form: SequenceForm) -> tuple[list[np.ndarray], dict]:
    """The policy tables in a file and their recorded properties; raises a ValueError if the file is not intact."""
    line, _, body = pathlib.Path(file).read_bytes().partition(b"\n")
    try:
        head = json.loads(line)
        if head.pop("format") != _WEIGHTS_FORMAT:
            raise ValueError("another format")
        size, digest, trees, game = head.pop("bytes"), head.pop("sha256"), head["trees"], head["game"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{file} is not a file of policy tables ({error})") from None
    if len(body) != size or _digest(head, body) != digest:
        raise ValueError(f"{file} is truncated or altered; delete it, or install the package again")
    if trees != [numbering(tree) for tree in form.trees]:
        raise ValueError(f"{file} holds policies of {game}, not of {form.trees[0].game_string}")
    planes = np.frombuffer(lzma.decompress(body), np.uint8)
    sizes = [tree.num_sequences for tree in form.trees]
    high, low = planes[: sum(sizes)].astype(np.uint16), planes[sum(sizes) :]
    weight = (high << 8) | low
    return tables_of_weights(form, [np.append(0, each) for each in (weight[: sizes[0]], weight[sizes[0] :])]), head


def _digest(head: dict, body: bytes) -> str:
    return hashlib.sha256(json.dumps(head, sort_keys=True).encode() + body).hexdigest()


@numba.njit(cache=True)
def _prune(levels: Levels, table, reach, least_probability, least_reach, weight):
    reached = np.zeros(len(levels.parent), np.bool_)
    reached[: levels.level_start[1]] = True
    for s in range(len(reached)):
        if not reached[s]:
            continue
        first, end = levels.first_sequence[s], levels.first_sequence[s + 1]
        best = first + np.argmax(table[first:end])
        kept = 0.0
        for j in range(first, end):
            if j == best or (table[j] >= least_probability and reach[j] >= least_reach):
                kept += table[j]
        for j in range(first, end):
            if j == best or (table[j] >= least_probability and reach[j] >= least_reach):
                weight[j] = max(1, round(_WHOLE * table[j] / kept))
                reached[levels.first_child[j] : levels.first_child[j + 1]] = True

"""Policies of both players in a small file: pruned, rounded to 16 bits, compressed.

The first line is JSON about the policy, with the lengths and the SHA-256 of what follows, so that a truncated or
altered file is refused. The rest is LZMA of one 16-bit weight per sequence but the root of players 0 and 1, first all
high bytes, then all low bytes. The probabilities at a state are proportional to the weights. If all weights are 0, as
at states that the policy does not reach, they are uniform.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import pathlib
from collections.abc import Sequence

import numba
import numpy as np

from tmdp_spiel.core import storage
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.sequence_form import Levels, SequenceForm, exploitability, own_reach

LEAST_PROBABILITY = 1e-3  # what is rarer is pruned, which makes the file smaller and the policy hardly worse
LEAST_REACH = 1e-7
_FORMAT = "tmdp-spiel tables 1"
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
    line = json.dumps({"format": _FORMAT, **head, "bytes": len(body), "sha256": _digest(head, body)})
    with storage.replacing(file, "wb") as stream:
        stream.write(line.encode() + b"\n" + body)
    return head


def read_tables(file: str | os.PathLike, form: SequenceForm) -> tuple[list[np.ndarray], dict]:
    """The policy tables in a file and their recorded properties; raises a ValueError if the file is not intact."""
    line, _, body = pathlib.Path(file).read_bytes().partition(b"\n")
    try:
        head = json.loads(line)
        if head.pop("format") != _FORMAT:
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

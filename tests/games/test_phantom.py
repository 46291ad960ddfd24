"""Phantom tic-tac-toe and dark hex, against OpenSpiel's histories, known values, and sets of consistent worlds."""

import random

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib

import tmdp_spiel as ts
from reference import phantom_histories
from tmdp_spiel.games import phantom
from tmdp_spiel.games.phantom import phantom_game
from tmdp_spiel.games.phantom.enumeration import enumerate_states
from tmdp_spiel.games.phantom.form import PhantomForm
from tmdp_spiel.games.phantom.rules import rules_of
from tmdp_spiel.openspiel import policy_tables
from tmdp_spiel.openspiel.build import CannotEnumerateError
from tmdp_spiel.openspiel.exact_games import exact_exploitability, shipped_file, solve
from tmdp_spiel.openspiel.policy_tables import TablePolicy, policy_table
from tmdp_spiel.planning.cfr import CFRSolver, PrunedCFRSolver
from tmdp_spiel.trees import sequence_form

SMALL = [
    "dark_hex(num_rows=2,num_cols=2)",
    "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "dark_hex(num_rows=3,num_cols=2)",
    "dark_hex(num_rows=2,num_cols=3,gameversion=adh)",
]
MIDDLE = ["dark_hex(num_rows=2,num_cols=4)", "dark_hex(num_rows=4,num_cols=2,gameversion=adh)"]
built: dict = {}


def form_of(string):
    """The form, built once and not saved on disk."""
    if string not in built:
        rules = rules_of(pyspiel.load_game(string))
        built[string] = PhantomForm(rules, (enumerate_states(rules, 0), enumerate_states(rules, 1)))
    return built[string]


def own_history(form, player, state):
    own = int(form.states[player].own[state])
    return tuple((cell, bool(own >> cell & 1)) for cell in form.trees[player].names.tries(state))


@pytest.mark.parametrize("string", SMALL)
def test_states_and_payoffs_are_those_of_all_histories(string):
    form, (states, endings) = form_of(string), phantom_histories.visit_histories(pyspiel.load_game(string))
    numbers = []
    for player, tree in enumerate(form.trees):
        found = {own_history(form, player, state): state for state in range(tree.num_states)}
        assert {own: tuple(tree.legal_actions(state)) for own, state in found.items()} == states[player]
        of_sequence = {None: tree.root}
        for own, state in found.items():
            for j, action in enumerate(tree.legal_actions(state).tolist(), start=int(tree.first_sequence[state])):
                of_sequence[own, action] = j
        for own, state in found.items():
            assert tree.parent[state] == of_sequence[(own[:-1], own[-1][0]) if own else None]
        numbers.append(of_sequence)
    rng = np.random.default_rng(0)
    for player, tree in enumerate(form.trees):
        reach = rng.random(form.trees[1 - player].sequence_end)
        expected, ends = np.zeros((2, tree.sequence_end))
        for (first, second, utility), count in endings.items():
            sequences = numbers[0][first], numbers[1][second]
            weight = count * reach[sequences[1 - player]]
            expected[sequences[player]] += weight * (utility if player == 0 else -utility)
            ends[sequences[player]] += 1
        np.testing.assert_allclose(form.gradient(player, reach), expected, atol=1e-10)
        np.testing.assert_array_equal(tree.can_end, ends > 0)


@pytest.mark.parametrize(
    "string", [*SMALL, *MIDDLE, "phantom_ttt", pytest.param("dark_hex(board_size=3)", marks=pytest.mark.slow)]
)
def test_strings_tensors_and_histories_are_openspiels(string):
    game, form, rng = pyspiel.load_game(string), form_of(string), random.Random(1)
    numbered = form.rules.hexagonal and not form.rules.abrupt
    for _ in range(40):
        state = game.new_initial_state()
        while not state.is_terminal():
            player = state.current_player()
            tree, name = form.trees[player], state.information_state_string(player)
            number = tree.state_index(name)
            if numbered:
                lines = name.split("\n")
                lines[form.rules.rows] = "?"
                name = "\n".join(lines)
            assert tree.state_string(number) == name
            assert tree.state_index(name) == number
            assert tree.legal_actions(number).tolist() == state.legal_actions()
            np.testing.assert_array_equal(
                form.tensors(player, np.array([number]))[0], state.information_state_tensor(player)
            )
            again = game.new_initial_state()
            for action in form.history(player, number):
                again.apply_action(action)
            assert again.current_player() == player
            assert tree.state_index(again.information_state_string(player)) == number
            state.apply_action(rng.choice(state.legal_actions()))
    for name in ("", "x\n", tree.state_string(1)[:-2] + "9 ", tree.state_string(1).replace("x", "z").replace("o", "z")):
        with pytest.raises(KeyError, match="no legal play"):
            tree.state_index(name)


def mixed(tries, own, cell):
    """Numbers that look random, the same for arrays and for integers."""
    bits = (tries * 0x9E3779B97F4A7C15 + own * 0xBF58476D1CE4E5B9 + (cell + 1) * 0x94D049BB133111EB) & (2**64 - 1)
    bits ^= bits >> 29
    bits = bits * 0xBF58476D1CE4E5B9 & (2**64 - 1)
    return bits ^ bits >> 32


def sparse_table(form, player, second):
    """Plays the action with the largest number, and with probability `second` the one with the smallest."""
    tree, states = form.trees[player], form.states[player]
    per_state = np.diff(tree.first_sequence)
    with np.errstate(over="ignore"):
        tries, own = np.repeat(states.tries, per_state), np.repeat(states.own.astype(np.uint64), per_state)
        bits = (
            tries * np.uint64(0x9E3779B97F4A7C15)
            + own * np.uint64(0xBF58476D1CE4E5B9)
            + (tree.action[1:].astype(np.uint64) + np.uint64(1)) * np.uint64(0x94D049BB133111EB)
        )
        bits ^= bits >> np.uint64(29)
        bits *= np.uint64(0xBF58476D1CE4E5B9)
        bits ^= bits >> np.uint64(32)
    starts = tree.first_sequence[:-1] - 1
    largest = np.repeat(np.maximum.reduceat(bits, starts), per_state)
    smallest = np.repeat(np.minimum.reduceat(bits, starts), per_state)
    return (1 - second) * (bits == largest) + second * (bits == smallest)


def sparse_policy(second):
    def policy(own, legal):
        tries = sum(cell << 4 * t for t, (cell, _) in enumerate(own))
        stones = sum(1 << cell for cell, stone in own if stone)
        ordered = sorted(legal, key=lambda cell: mixed(tries, stones, cell))
        answer = {ordered[-1]: 1 - second}
        answer[ordered[0]] = answer.get(ordered[0], 0.0) + second
        return answer

    return policy


@pytest.mark.parametrize(
    "string, second",
    [
        (MIDDLE[0], 0.25),
        (MIDDLE[1], 0.0),
        ("phantom_ttt", 0.0),
        pytest.param("phantom_ttt(gameversion=abrupt)", 0.0, marks=pytest.mark.slow),
    ],
)
def test_best_responses_are_those_by_sets_of_worlds(string, second):
    form = form_of(string)
    rules = form.rules
    for player in (0, 1):
        value, _ = sequence_form.best_response(form, player, sparse_table(form, 1 - player, second))
        expected = phantom_histories.best_response(
            lambda who, mask: rules.wins[who, mask], rules.num_cells, rules.abrupt, player, sparse_policy(second)
        )
        assert value == pytest.approx(expected, abs=1e-9)


def test_published_values_of_phantom_tic_tac_toe():
    """5.99 million states (Rudolph and others 2026); the values of the uniform policy are those of exp-a-spiel."""
    form = form_of("phantom_ttt")
    assert [tree.num_states for tree in form.trees] == [3_683_314, 2_307_355]
    found = sequence_form.exploitability(form, [form.uniform_policy(player) for player in (0, 1)])
    assert found.best_responses == pytest.approx((0.953125, 0.624338624), abs=1e-9)
    assert found.values == pytest.approx((0.296825397, -0.296825397), abs=1e-9)


@pytest.mark.slow
def test_published_values_of_dark_hex():
    form = form_of("dark_hex(board_size=3)")
    found = sequence_form.exploitability(form, [form.uniform_policy(player) for player in (0, 1)])
    assert found.best_responses == pytest.approx((1.0, 0.832804233), abs=1e-9)
    assert found.values == pytest.approx((1 / 3, -1 / 3), abs=1e-9)


@pytest.mark.parametrize(
    "string, published",
    [("phantom_ttt", 0.6667), pytest.param("dark_hex(board_size=3)", 1.0, marks=pytest.mark.slow)],
)
def test_the_shipped_equilibrium_is_as_good_as_it_says(string, published):
    form = form_of(string)
    file = shipped_file(phantom.SHIPPED, pyspiel.load_game(string))
    tables, facts = policy_tables.read_tables(file, form)
    found = sequence_form.exploitability(form, tables)
    assert found.exploitability == pytest.approx(facts["exploitability"], abs=1e-9)
    assert found.exploitability <= 0.001 * form.trees[0].utility_range
    assert -found.best_responses[1] - 5e-5 <= published <= found.best_responses[0] + 5e-5  # to four digits


def test_cfr_converges_on_a_small_board():
    form = form_of("dark_hex(num_rows=3,num_cols=2)")
    solver = CFRSolver(form, "pcfr+")
    for _ in range(300):
        solver.iterate()
    assert solver.exploitability().exploitability < 0.01


def test_a_registered_game_is_built_from_its_string(monkeypatch, tmp_path):
    monkeypatch.setenv("TMDP_SPIEL_CACHE", str(tmp_path))
    string = MIDDLE[0]
    game, form = ts.load_game(string), phantom_game(pyspiel.load_game(string))
    tables = {player: sparse_table(form, player, 0.25) for player in (0, 1)}
    mdp = ts.build_tree(game, 0, TablePolicy(game, form, tables))
    assert mdp.tree is form.trees[0]
    assert mdp.best_response()[0] == pytest.approx(sequence_form.best_response(form, 0, tables[1])[0], abs=1e-12)
    uniform = ts.build_tree(game, 1, policy_lib.UniformRandomPolicy(game))
    assert uniform.value(form.uniform_policy(1)) == pytest.approx(
        sequence_form.expected_values(form, [form.uniform_policy(player) for player in (0, 1)])[1], abs=1e-12
    )
    with pytest.raises(ValueError, match="numbers of moves"):
        ts.build_tree(game, 0, policy_lib.FirstActionPolicy(game))


class BlindPolicy(policy_lib.Policy):
    """Asks a function of the own tries and their results; optionally it breaks this by a look at the whole history."""

    def __init__(self, game, policy, peeks=False):
        super().__init__(game, [0, 1])
        self._policy, self._peeks = policy, peeks

    def action_probabilities(self, state, player_id=None):
        player = state.current_player()
        cells = state.information_state_string(player).split("\n")[-1].split()
        mine = [int(each.split(",")[1]) for each in cells if each.startswith(f"{player},")]
        view = "".join(state.information_state_string(player).split("\n")[:-2])
        own = [(cell, view[cell] == "xo"[player]) for cell in mine]
        if self._peeks and len(state.history()) % 2:
            own = own[:-1]
        return self._policy(own, state.legal_actions())


@pytest.mark.parametrize("string", ["dark_hex(num_rows=2,num_cols=2)", "dark_hex(num_rows=2,num_cols=3)"])
def test_small_boards_have_the_states_of_large_ones(string):
    game, form = ts.load_game(string), form_of(string)
    equilibrium = ts.equilibrium(game, 200)
    found = exact_exploitability(game, equilibrium)
    assert found.exploitability == pytest.approx(equilibrium.exploitability, abs=1e-12)
    assert found.exploitability < 0.01
    for player in (0, 1):
        table = sparse_table(form, 1 - player, 0.25)
        policy = BlindPolicy(game, sparse_policy(0.25))
        mdp = ts.build_tree(game, player, policy)
        assert mdp.tree.num_states == form.trees[player].num_states
        assert mdp.best_response()[0] == pytest.approx(sequence_form.best_response(form, player, table)[0], abs=1e-12)
        with pytest.raises(CannotEnumerateError, match="depends on it.*obstype=reveal-numturns"):
            ts.build_tree(game, player, BlindPolicy(game, sparse_policy(0.25), peeks=True))


@pytest.mark.parametrize("string", SMALL)
def test_a_restricted_game_collects_what_the_whole_one_does(string, monkeypatch):
    whole, rng = form_of(string), np.random.default_rng(0)
    for share in (0.0, 0.3, 1.0):
        kept = [rng.random(tree.sequence_end) < share for tree in whole.trees]
        for mask, tree in zip(kept, whole.trees):
            mask[tree.first_sequence[:-1] + rng.integers(np.diff(tree.first_sequence))] = True
        form, sequences = whole.restricted(kept)
        for player in (0, 1):
            reach = np.zeros(whole.trees[1 - player].sequence_end)
            reach[sequences[1 - player]] = rng.random(len(sequences[1 - player]))
            found = form.gradient(player, reach[sequences[1 - player]])
            expected = whole.gradient(player, reach)[sequences[player]]
            np.testing.assert_allclose(found, expected, atol=1e-12)
    assert form.trees[0].num_states == whole.trees[0].num_states
    monkeypatch.setattr("tmdp_spiel.games.phantom.restricted.MOST_ENDINGS", 10)
    assert whole.restricted(kept) is None


@pytest.mark.parametrize("most", [0, 60_000_000])
def test_pruned_iterations_resume_identically_and_find_the_equilibrium(most, monkeypatch, tmp_path):
    monkeypatch.setattr("tmdp_spiel.games.phantom.restricted.MOST_ENDINGS", most)
    form = form_of(SMALL[3])
    solver, resumed = (PrunedCFRSolver(form, "pdcfr+", np.float32, block=20, pruned=16) for _ in range(2))
    whole = CFRSolver(form, "pdcfr+", np.float32)
    for iteration in range(1, 101):
        solver.iterate()
        whole.iterate()
        if iteration in (15, 45):
            resumed.load_state_dict(solver.state_dict())
        if iteration == 20 or not most:
            np.testing.assert_allclose(solver.average_policy(0), whole.average_policy(0), atol=1e-6)
    while resumed.iteration < 100:
        resumed.iterate()
    np.testing.assert_array_equal(resumed.average_policy(1), solver.average_policy(1))
    assert solver.exploitability().exploitability < 1e-3
    policy = solve(SMALL[3], form, 100, variant="pdcfr+", block=20, pruned=16, target=0.0, folder=tmp_path)
    assert policy.exploitability == pytest.approx(solver.exploitability().exploitability, abs=1e-3)


def test_large_boards_refuse_policies_of_strings_and_take_names():
    form = form_of("dark_hex(board_size=3)")
    np.testing.assert_array_equal(policy_table(form, 0, "uniform"), form.uniform_policy(0))
    with pytest.raises(CannotEnumerateError, match="may depend on it"):
        policy_table(form, 0, {"...": {0: 1.0}})


def test_functions_are_asked_in_batches_of_tensors():
    form = form_of(MIDDLE[1])
    table = policy_table(form, 0, lambda tensors: np.tile(np.arange(8.0, 0, -1), (len(tensors), 1)), outputs="values")
    np.testing.assert_array_equal(table[form.trees[0].first_sequence[:-1]], 1.0)


def test_a_wrong_policy_is_named_by_its_string():
    form = form_of("phantom_ttt")
    table = form.uniform_policy(1)
    state = form.trees[1].state_index("...\n.o.\n...\n1,4 ")
    table[form.trees[1].first_sequence[state]] = np.nan
    with pytest.raises(ValueError, match=r"1,4 .*legal actions \[0, 1, 2, 3, 5, 6, 7, 8\]"):
        sequence_form.best_response(form, 0, table)


@pytest.mark.parametrize(
    "string",
    [
        "phantom_ttt(obstype=reveal-numturns)",
        "dark_hex(board_size=3,obstype=reveal-numturns)",
        "dark_hex(board_size=4)",
        "dark_hex(num_rows=1,num_cols=3)",
    ],
)
def test_other_variants_are_left_to_play(string):
    assert phantom_game(pyspiel.load_game(string)) is None

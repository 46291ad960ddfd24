"""Agents of every form as policy tables, and the errors that name a state."""

import json

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as policy_lib

import tmdp_spiel as ts
from tmdp_spiel.games.public_action import exact_game
from tmdp_spiel.openspiel.build import GameTooLargeError
from tmdp_spiel.openspiel.exact_games import exact_exploitability
from tmdp_spiel.openspiel.histories import enumerated_form
from tmdp_spiel.openspiel.opponents import wrappers
from tmdp_spiel.openspiel.opponents.adapters.networks import Network, NetworkPolicy
from tmdp_spiel.openspiel.policy_files import FilePolicy
from tmdp_spiel.openspiel.policy_tables import TablePolicy, load_table, policy_table, save_table
from tmdp_spiel.openspiel.query_agents import check_width
from tmdp_spiel.trees import sequence_form

DICE = "liars_dice(numdice=1,dice_sides=3)"
GAMES = [DICE, "goofspiel(imp_info=True,num_cards=3,points_order=random)", "oshi_zumo(coins=5,min_bid=1)"]


def make_network(form, game, seed=0):
    """A small network in NumPy, from tensors to logits."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(form.tensor_width, 8))
    second = rng.normal(size=(8, game.num_distinct_actions()))
    return lambda tensors: np.tanh(np.asarray(tensors) @ first) @ second


class NetworkByStates(policy_lib.Policy):
    """The same network as an OpenSpiel policy: the slow twin."""

    def __init__(self, game, network, tensor_kind):
        super().__init__(game, [0, 1])
        self._network, self._kind = network, tensor_kind

    def action_probabilities(self, state, player_id=None):
        player = state.current_player() if player_id is None else player_id
        logits = self._network([getattr(state, self._kind)(player)])[0][state.legal_actions()]
        weights = np.exp(logits)
        return dict(zip(state.legal_actions(), weights / weights.sum()))


@pytest.fixture(params=GAMES)
def case(request):
    return ts.load_game(request.param), exact_game(request.param)


@pytest.mark.parametrize("player", [0, 1])
def test_a_network_by_batches_and_by_states_is_the_same_table(case, player):
    game, form = case
    network = make_network(form, game)
    by_batches = policy_table(form, player, network, batch_size=7)
    by_states = policy_table(form, player, NetworkByStates(game, network, form.tensor_kind))
    np.testing.assert_allclose(by_batches, by_states, atol=1e-12)


def test_probabilities_values_and_masks(case):
    game, form = case
    network, tree = make_network(form, game), form.trees[0]

    def softmax(tensors, masks):
        weights = np.exp(network(tensors)) * masks
        return weights / weights.sum(axis=1, keepdims=True)

    logits = policy_table(form, 0, network)
    np.testing.assert_allclose(policy_table(form, 0, softmax, outputs="probabilities", with_mask=True), logits)
    greedy = policy_table(form, 0, network, outputs="values")
    for state in range(tree.num_states):
        own = slice(*tree.first_sequence[state : state + 2])
        assert greedy[own].argmax() == logits[own].argmax() and sorted(greedy[own])[-1] == greedy[own].sum() == 1


def test_tables_of_every_form_agree(case, tmp_path):
    game, form = case
    table = policy_table(form, 1, make_network(form, game))
    tree = form.trees[1]
    strings = {
        tree.state_string(state): dict(
            zip(tree.legal_actions(state).tolist(), table[slice(*tree.first_sequence[state : state + 2])].tolist())
        )
        for state in range(tree.num_states)
    }
    (tmp_path / "policy.json").write_text(json.dumps(strings))
    save_table(tmp_path / "policy.npz", form, 1, table)
    tabular = policy_lib.TabularPolicy(game, players=(1,))
    for string, row in strings.items():
        tabular.policy_for_key(string)[:] = 0
        for action, probability in row.items():
            tabular.policy_for_key(string)[action] = probability
    forms = [table, strings, tmp_path / "policy.json", str(tmp_path / "policy.npz"), tabular]
    forms += [
        TablePolicy(game, form, {1: table}),
        pyspiel.TabularPolicy({k: list(v.items()) for k, v in strings.items()}),
    ]
    for agent in forms:
        np.testing.assert_allclose(policy_table(form, 1, agent), table, atol=1e-12)


def test_a_table_policy_answers_openspiel(case):
    game, form = case
    tables = {player: policy_table(form, player, make_network(form, game)) for player in (0, 1)}
    policy = TablePolicy(game, form, tables)
    slow = NetworkByStates(game, make_network(form, game), form.tensor_kind)
    state = game.new_initial_state()
    rng = np.random.default_rng(0)
    while not state.is_terminal():
        if not state.is_chance_node():
            assert policy.action_probabilities(state) == pytest.approx(slow.action_probabilities(state))
        state.apply_action(rng.choice(state.legal_actions()))


def test_a_table_policy_is_read_as_a_table_from_another_copy_of_the_form():
    game, form = ts.load_game(DICE), exact_game(DICE)
    table = policy_table(form, 1, make_network(form, game))
    exact_game(GAMES[2])  # the last form alone is kept
    again = exact_game(DICE)
    assert again is not form
    policy = TablePolicy(game, form, {1: table})
    assert policy_table(again, 1, policy) is policy.tables[1]
    assert not policy.is_for(again, 0) and not policy.is_for(exact_game(GAMES[2]), 1)


def test_uniform_and_enumerated_forms():
    game = ts.load_game("kuhn_poker")
    form = enumerated_form(game)
    np.testing.assert_array_equal(policy_table(form, 0, ts.uniform(game)), form.uniform_policy(0))
    equilibrium = ts.equilibrium(game, 10)
    by_strings = policy_table(form, 1, policy_lib.TabularPolicy(game).copy_with_noise(0.0))
    np.testing.assert_allclose(by_strings, form.uniform_policy(1))
    assert policy_table(form, 1, equilibrium).shape == (form.trees[1].sequence_end,)
    with pytest.raises(TypeError, match="provides no tensors"):
        policy_table(form, 0, lambda tensors: tensors)


def test_a_kept_table_is_read_again(tmp_path):
    game, form = ts.load_game(DICE), exact_game(DICE)
    file = tmp_path / "table.npz"
    table = policy_table(form, 0, make_network(form, game), file=file)
    again = policy_table(form, 0, None, file=file)
    np.testing.assert_array_equal(table, again)
    with pytest.raises(ValueError, match="player 0 of .* not of player 1"):
        load_table(file, form, 1)
    with pytest.raises(ValueError, match="not of player 0 of liars_dice"):
        load_table(file, exact_game("liars_dice(numdice=1,dice_sides=2)"), 0)
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(ValueError, match="not a policy table"):
        load_table(file, form, 0)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda row: row.__setitem__(row.argmin(), 0.5), r"illegal action\(s\) \[\d+\] at state '3 1-1 1-2'"),
        (lambda row: row.__setitem__(slice(None), row / 2), "not a distribution, sum 0.5"),
        (lambda row: row.__setitem__(row.argmax(), np.nan), "NaN at state '3 1-1 1-2'"),
        (lambda row: row.__setitem__(slice(None), row * -1), "not a distribution"),
    ],
)
def test_wrong_probabilities_name_the_state(change, message):
    form = exact_game(DICE)
    state = form.trees[0].state_index("3 1-1 1-2")

    def function(tensors, masks):
        rows = masks / masks.sum(axis=1, keepdims=True)
        change(rows[state])
        return rows

    with pytest.raises(ValueError, match=message):
        policy_table(form, 0, function, outputs="probabilities", with_mask=True)


def test_wrong_logits_name_the_state():
    game, form = ts.load_game(DICE), exact_game(DICE)
    for value, message in ((np.nan, "NaN at state '1'"), (np.inf, "not finite at state '1'")):
        with pytest.raises(ValueError, match=message):
            policy_table(form, 0, lambda tensors: np.full((len(tensors), game.num_distinct_actions()), value))
    with pytest.raises(ValueError, match=r"shape \(\d+, 3\)"):
        policy_table(form, 0, lambda tensors: np.zeros((len(tensors), 3)))


def test_wrong_tables_name_the_state():
    form = exact_game(DICE)
    with pytest.raises(ValueError, match="missing at a state that it can reach: '1'"):
        policy_table(form, 0, {})
    with pytest.raises(ValueError, match=r"illegal action\(s\) \[6\] at state '2'"):
        policy_table(form, 0, {"2": {6: 1.0}})
    with pytest.raises(ValueError, match="state .2. of player 0 are not a distribution"):
        policy_table(form, 0, {"2": {0: 0.5}})
    with pytest.raises(ValueError, match="not a distribution over the legal actions"):
        policy_table(form, 0, np.zeros(form.trees[0].sequence_end))
    with pytest.raises(TypeError, match="not a list"):
        policy_table(form, 0, [1.0])
    with pytest.raises(ValueError, match="outputs must be one of"):
        policy_table(form, 0, {}, outputs="softmax")


def test_states_that_a_table_does_not_reach_may_be_left_out():
    form = exact_game(DICE)
    tree = form.trees[0]
    table = policy_table(form, 0, {"1": {0: 1.0}, "2": {5: 1.0}, "3": {5: 1.0}} | _replies(tree))
    assert table[tree.first_sequence[0]] == 1


def _replies(tree):
    """A policy that calls at every state after 1 1-1."""
    return {
        tree.state_string(s): {6: 1.0} for s in range(3, tree.num_states) if tree.state_string(s).startswith("1 1-1")
    }


def test_slow_policies_say_how_long_they_would_take():
    game, form = ts.load_game(DICE), exact_game(DICE)
    policy = NetworkByStates(game, make_network(form, game), form.tensor_kind)
    with pytest.raises(GameTooLargeError, match="would take about"):
        policy_table(form, 0, policy, max_seconds=1e-9)


def test_functions_that_fail_say_on_what():
    form = exact_game(DICE)
    with pytest.raises(
        ValueError,
        match=r"fails on a batch of tensors of shape \(\d+, 12\): .*mismatch.*nashbench.*two entries more",
    ):
        policy_table(form, 0, lambda tensors: tensors @ np.zeros((14, 7)))


@pytest.mark.parametrize(
    "string, size, message",
    [
        (DICE, 14, "size 14; .* has 12. 14 fits nashbench"),
        (GAMES[1], 43, "size 43; .* has 45. 43 fits nashbench"),
        (GAMES[1], 41, "fits the simultaneous game"),
        (GAMES[2], 99, "size 99; OpenSpiel's observation tensor of .* has 25$"),
    ],
)
def test_tensors_of_another_width_are_told_apart(string, size, message):
    form = exact_game(string)
    check_width(form, form.tensor_width)
    with pytest.raises(ValueError, match=message):
        check_width(form, size)


@pytest.mark.parametrize("string", GAMES)
@pytest.mark.parametrize("name", ["DQN", "NFSP", "PolicyGradient", "PPO", "module"])
def test_torch_agents_by_batches_are_what_they_play_by_states(string, name):
    torch = pytest.importorskip("torch")
    game, form = ts.load_game(string), exact_game(string)
    width, actions = form.tensor_width, game.num_distinct_actions()
    torch.manual_seed(0)
    if name == "module":
        agent = torch.nn.Sequential(torch.nn.Linear(width, 8), torch.nn.Dropout(), torch.nn.Linear(8, actions))
        slow = NetworkPolicy(game, agent, 1)
        network_by_states = policy_lib.Policy(game, [1])
        network_by_states.action_probabilities = lambda state, player=None: slow.action_probabilities(state)
        np.testing.assert_allclose(policy_table(form, 1, agent), policy_table(form, 1, network_by_states), atol=1e-6)
        with pytest.raises(ValueError, match=f"size {width + 1}; .* has {width}"):
            policy_table(form, 1, torch.nn.Linear(width + 1, actions))
        return
    if name == "DQN":
        from open_spiel.python.pytorch import dqn

        agent = dqn.DQN(1, width, actions, [8])
    elif name == "NFSP":
        from open_spiel.python.pytorch import nfsp

        agent = nfsp.NFSP(1, width, actions, [8], 100, 0.1)
    elif name == "PolicyGradient":
        from open_spiel.python.pytorch import policy_gradient

        agent = policy_gradient.PolicyGradient(1, width, actions, hidden_layers_sizes=[8])
    else:
        from open_spiel.python.pytorch import ppo

        agent = ppo.PPO((width,), actions, num_players=2, player_id=1, agent_fn=ppo.PPOAgent)
    by_states = wrappers.agent_policy(game, agent, 1)

    class Hidden(policy_lib.Policy):
        def action_probabilities(self, state, player_id=None):
            return by_states.action_probabilities(state)

    expected = policy_table(form, 1, Hidden(game, [1]))
    np.testing.assert_allclose(policy_table(form, 1, agent), expected, atol=1e-6)
    np.testing.assert_allclose(policy_table(form, 1, by_states), expected, atol=1e-6)


class FirstAction(policy_lib.UniformRandomPolicy):
    """A subclass that plays in another way than its class."""

    def action_probabilities(self, state, player_id=None):
        return {state.legal_actions()[0]: 1.0}


def test_a_subclass_of_a_known_policy_is_asked():
    game, form = ts.load_game(DICE), exact_game(DICE)
    expected = policy_table(form, 0, policy_lib.FirstActionPolicy(game))
    np.testing.assert_array_equal(policy_table(form, 0, FirstAction(game)), expected)

    class FirstOfTable(TablePolicy):
        action_probabilities = FirstAction.action_probabilities

    class FirstOfFile(FilePolicy):
        action_probabilities = FirstAction.action_probabilities

    class FirstOfNetwork(NetworkPolicy):
        action_probabilities = FirstAction.action_probabilities

    network = Network(make_network(form, game))
    changed = ts.uniform(game)
    changed.action_probabilities = lambda state, player_id=None: {state.legal_actions()[0]: 1.0}
    tables = {0: form.uniform_policy(0)}
    for agent in (FirstOfTable(game, form, tables), FirstOfFile(game, {}), FirstOfNetwork(game, network, 0), changed):
        np.testing.assert_array_equal(policy_table(form, 0, agent), expected)
    assert exact_exploitability(DICE, FirstAction(game)) == exact_exploitability(
        DICE, policy_lib.FirstActionPolicy(game)
    )


def test_a_policy_that_holds_an_agent_is_asked():
    """Only OpenSpiel's own classes say that a policy plays what the agent in it plays."""
    torch = pytest.importorskip("torch")
    game, form = ts.load_game(DICE), exact_game(DICE)

    class Wrapped(policy_lib.Policy):
        def __init__(self):
            super().__init__(game, [0, 1])
            self._agent = torch.nn.Linear(form.tensor_width, game.num_distinct_actions())

        action_probabilities = FirstAction.action_probabilities

    expected = policy_table(form, 1, policy_lib.FirstActionPolicy(game))
    np.testing.assert_array_equal(policy_table(form, 1, Wrapped()), expected)


def test_illegal_probabilities_of_a_subclass_are_seen():
    class Illegal(policy_lib.UniformRandomPolicy):
        def action_probabilities(self, state, player_id=None):
            return {0: 0.7, 1: 0.7}

    with pytest.raises(ValueError, match=r"not a distribution, sum 1.4|illegal action\(s\)"):
        policy_table(exact_game(DICE), 0, Illegal(ts.load_game(DICE)))


def test_names_and_network_files_are_opened(tmp_path):
    torch = pytest.importorskip("torch")
    game, form = ts.load_game(DICE), exact_game(DICE)
    np.testing.assert_array_equal(policy_table(form, 0, "uniform"), form.uniform_policy(0))
    solved = policy_table(form, 0, "cfr+")
    assert sequence_form.best_response(form, 1, solved)[0] < -0.1  # the value for the second player is about -0.11
    module = torch.nn.Sequential(torch.nn.Linear(form.tensor_width, game.num_distinct_actions()))
    torch.jit.script(module).save(str(tmp_path / "network.pt"))
    np.testing.assert_allclose(policy_table(form, 0, tmp_path / "network.pt"), policy_table(form, 0, module))
    with pytest.raises(FileNotFoundError, match="no policy table"):
        policy_table(form, 0, "missing.npz")
    with pytest.raises(FileNotFoundError, match="no policy file"):
        policy_table(form, 0, "missing.json")
    with pytest.raises(TypeError, match="can only be played against"):
        policy_table(form, 0, "ismcts")
    mine, theirs = (ts.build_tree(DICE, 0, agent).best_response()[0] for agent in ("uniform", {1: "uniform"}))
    assert mine == theirs == pytest.approx(sequence_form.best_response(form, 0, form.uniform_policy(1))[0])

"""RLCard's agents: they see what RLCard's own environment would show them."""

import pathlib
import re

import numpy as np
import pyspiel
import pytest

import tmdp_spiel as ts
from reference.openspiel_exact import exact_nash_conv, greedy
from tmdp_spiel.openspiel.opponents.adapters.rlcard import ACTIONS, rlcard_state

rlcard = pytest.importorskip("rlcard")
agents = pytest.importorskip("rlcard.agents")
LEDUC = pyspiel.load_game(ts.adapters.RLCARD_GAMES["leduc-holdem"])
SETTINGS = {"progress": False}


def deal(state, names):
    """Deals cards by their names, as ACPC writes them."""
    for name in names:
        state.apply_action(
            next(a for a in state.legal_actions() if state.action_to_string(-1, a).endswith(f"Deal {name}"))
        )


@pytest.mark.parametrize("kind", ["leduc-holdem", "limit-holdem"])
def test_states_are_those_of_rlcards_environment(kind):
    game = pyspiel.load_game(ts.adapters.RLCARD_GAMES[kind])
    env, rng, compared = rlcard.make(kind, config={"seed": 1}), np.random.default_rng(0), 0

    def as_acpc(card):  # "SJ" or "S2" of RLCard
        if kind == "leduc-holdem":
            return "234"["JQK".index(card[1])] + "cd"["SH".index(card[0])]
        return card[1] + card[0].lower()

    for _ in range(150):
        env.game.history_raise_nums = [0] * 4  # RLCard 1.2.0 shows those of the last hand in the first state
        shown, player = env.reset()
        first = player  # the small blind, player 0 of universal_poker
        hands = env.get_perfect_information()["hand_cards"]
        hands = [each if isinstance(each, list) else [each] for each in hands]
        state, dealt = game.new_initial_state(), 0
        deal(state, [as_acpc(card) for seat in (first, 1 - first) for card in hands[seat]])
        while not env.is_over():
            public = env.get_perfect_information()["public_card"] or []
            public = public if isinstance(public, list) else [public]
            deal(state, [as_acpc(card) for card in public[dealt:]])
            dealt = len(public)
            if state.current_player() != (player - first) % 2:
                break  # another player begins the round, as the module says
            ours = rlcard_state(state, kind)
            np.testing.assert_array_equal(ours["obs"], shown["obs"])
            assert list(ours["legal_actions"]) == list(shown["legal_actions"])
            assert ours["raw_legal_actions"] == shown["raw_legal_actions"]
            raw = {
                name: value for name, value in shown["raw_obs"].items() if name not in ("current_player", "all_chips")
            }
            for name, value in raw.items():
                same = ours["raw_obs"][name]
                assert (
                    sorted(same) == sorted(value) if isinstance(value, list) and name != "raise_nums" else same == value
                )
            compared += 1
            name = rng.choice([each for each in ("call", "check", "raise", "fold") if each in shown["raw_legal_actions"]
                               and (each != "fold" or 0 in state.legal_actions())])  # fmt: skip
            state.apply_action({"call": 1, "check": 1, "raise": 2, "fold": 0}[name])
            shown, player = env.step(ACTIONS.index(name))
        else:
            won = env.get_payoffs()  # in big blinds
            if state.is_terminal():
                np.testing.assert_allclose(np.array(state.returns())[[first, 1 - first]], 2 * np.array(won))
    assert compared > 300


def test_a_trained_agent_is_a_known_policy():
    agent = agents.DQNAgent(num_actions=4, state_shape=[36], mlp_layers=[16], device="cpu")
    found = ts.exploit(LEDUC, agent, **SETTINGS)
    assert found.opponent == "DQNAgent" and not found.black_box

    def asked(state):
        action = agent.eval_step(rlcard_state(state, "leduc-holdem"))[0]
        answer = np.zeros(3)
        answer[{0: 1, 1: 2, 2: 0 if 0 in state.legal_actions() else 1, 3: 1}[int(action)]] = 1
        return answer

    assert found.nash_conv.exact == pytest.approx(exact_nash_conv(LEDUC, asked, greedy), abs=1e-6)


def test_the_shipped_cfr_agent_is_better_than_chance():
    from rlcard import models

    agent = models.load("leduc-holdem-cfr").agents[0]
    found = ts.exploit(LEDUC, agent, **SETTINGS)
    random = ts.exploit(LEDUC, agents.RandomAgent(num_actions=4), **SETTINGS)
    assert not found.black_box and found.exploitability.exact < random.exploitability.exact / 2


def test_a_rule_is_played_against_as_a_black_box():
    from rlcard import models

    found = ts.exploit(LEDUC, models.load("leduc-holdem-rule-v1").agents[0], episodes=500, **SETTINGS)
    assert found.black_box and found.nash_conv.lower < found.nash_conv.upper


def test_another_game_is_refused():
    with pytest.raises(ValueError, match="RandomAgent is an agent of RLCard, whose games differ from leduc_poker"):
        ts.exploit("leduc_poker", agents.RandomAgent(num_actions=4), **SETTINGS)


def test_the_example_of_the_documentation_runs(capsys):
    page = (pathlib.Path(ts.__file__).parents[1] / "docs" / "agents.md").read_text(encoding="utf-8")
    example = re.search(r"^## RLCard\n.*?^```\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1]
    assert "models.load" in example
    exec(compile("import tmdp_spiel as ts\n" + example, "docs/agents.md", "exec"), {})
    assert "exploitability" in capsys.readouterr().out

"""The plans are exact: compared with brute force over all reduced policies."""

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from tmdp_spiel.planning import full_pass
from tmdp_spiel.trees import traversal
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE


def random_counts(rng, tree):
    """Plays that a run could have left (flow is kept), with zeros; totals with ties."""
    plays = np.zeros(tree.sequence_end, np.int32)
    all_policies = brute_force.policies(tree)
    for _ in range(rng.integers(0, 12)):
        plays[list(all_policies[rng.integers(len(all_policies))])] += 1
    totals = rng.choice([-0.5, 0.0, 0.5, 1.0], tree.sequence_end) * (rng.random(tree.sequence_end) < 0.7)
    return plays, np.where((plays > 0) & tree.can_end, totals, 0.0)


def random_visits(rng, mdp):
    """Visits, plays and totals of a few episodes of random policies."""
    tree = mdp.tree
    plays, sequence_visits = np.zeros(tree.sequence_end, np.int32), np.zeros(tree.sequence_end, np.int32)
    state_visits, totals = np.zeros(tree.num_states, np.int32), np.zeros(tree.sequence_end)
    episodes = int(rng.integers(0, 15))
    for _ in range(episodes):
        plan = rng.integers(0, np.diff(tree.first_sequence)).astype(PLAN_DTYPE)
        plays[list(brute_force.policy_of(tree, plan))] += 1
        ended_on, value = mdp.sample(plan, rng)
        totals[ended_on] += value - 0.5
        while ended_on != tree.root:
            state = traversal.state_of(tree.links, ended_on)
            sequence_visits[ended_on] += 1
            state_visits[state] += 1
            ended_on = tree.parent[state]
    return episodes, plays, state_visits, sequence_visits, totals


def complete(tree, work, forced_sequences, time):
    forced = np.full(tree.num_states, -1, PLAN_DTYPE)
    for sequence in forced_sequences:
        traversal.force_path(tree.links, sequence, forced)
    plan, reached = np.zeros(tree.num_states, PLAN_DTYPE), np.empty(tree.num_states, np.int32)
    full_pass.best_plan(tree.links, work, forced, 1, time, plan, reached)
    for sequence in forced_sequences:
        traversal.release_path(tree.links, sequence, forced)
    assert (forced == -1).all()
    return brute_force.policy_of(tree, plan)


def check_plans(tree, work, best_value, plays, estimate, lam, optimistic, time):
    """Best plan, max-UCB plan and second plan against the best of the list."""
    everything = brute_force.policies(tree)
    values = {policy: estimate(policy) for policy in everything}

    def bound(policy):
        least = min(plays[j] for j in brute_force.endings(tree, policy))
        return brute_force.upper_bound(values[policy], least, lam, optimistic)

    assert best_value == pytest.approx(max(values.values()), abs=1e-12)
    first = complete(tree, work, [], time)
    assert values[first] == pytest.approx(best_value, abs=1e-12)

    ending, loss, wide = full_pass.max_ucb_ending(tree.links, work, plays, -1, lam, optimistic, 1, time)
    best_bound = max(map(bound, everything))
    assert brute_force.close(bound(complete(tree, work, [ending], time)), best_bound)
    claimed = best_value - loss + (lam * wide if np.isfinite(wide) else 0.0)
    assert claimed == pytest.approx(best_bound[1], abs=1e-10)

    full_pass.whole_best_plan(tree.links, work, 1, time)
    ending, deviation, _, _ = full_pass.runner_up(tree.links, work, plays, -1, lam, optimistic, 1, time)
    others = [bound(policy) for policy in everything if policy != first]
    if not others:
        assert ending == -1
        return
    second = complete(tree, work, [deviation if deviation >= 0 else ending], time)
    assert second != first
    assert brute_force.close(bound(second), max(others))


@pytest.mark.parametrize("block", range(4))
def test_plans_from_counts_are_exact(block):
    rng = np.random.default_rng(block)
    for time in range(500):
        mdp = brute_force.random_mdp(rng)
        tree = mdp.tree
        plays, totals = random_counts(rng, tree)
        work = full_pass.new_workspace(tree.num_states, tree.sequence_end)
        best_value = full_pass.counts_losses(tree.links, plays, totals, work)
        check_plans(
            tree,
            work,
            best_value,
            plays,
            lambda policy: brute_force.counts_estimate(tree, policy, plays, totals),
            lam=rng.choice([0.0, 0.3, 2.0]),
            optimistic=bool(rng.integers(2)),
            time=time,
        )


@pytest.mark.parametrize("block", range(4))
def test_plans_from_transitions_are_exact(block):
    rng = np.random.default_rng(block)
    for time in range(250):
        mdp = brute_force.random_mdp(rng, impossible_chance=0.3)
        tree = mdp.tree
        episodes, plays, state_visits, sequence_visits, totals = random_visits(rng, mdp)
        work = full_pass.new_workspace(tree.num_states, tree.sequence_end)
        best_value = full_pass.transitions_losses(tree.links, episodes, state_visits, sequence_visits, totals, work)
        check_plans(
            tree,
            work,
            best_value,
            plays,
            lambda policy: brute_force.transitions_estimate(
                tree, policy, episodes, state_visits, sequence_visits, totals
            ),
            lam=rng.choice([0.0, 0.3, 2.0]),
            optimistic=bool(rng.integers(2)),
            time=time,
        )


def test_a_rarely_reached_child_keeps_its_whole_width():
    """A child reached with p-hat = 0.1 offers (V, width) = (1, 0) and (0, 0.9): worth 0.1 and 0.9 at its parent."""
    tree = ts.InfostateTree(
        first_sequence=[1, 2, 4],
        first_child=[0, 1, 2, 2, 2],
        parent=[0, 1],
        action=[0, 0, 0, 1],
        can_end=[False, True, True, True],
    )
    # One action at the first state: it ends nine times in ten. The child's two actions: value 1 well known, value 0
    # hardly.
    sequence_visits = np.array([0, 1000, 99, 1], np.int32)
    state_visits = np.array([1000, 100], np.int32)
    plays = np.array([0, 10**6, 10**6, 100], np.int32)
    totals = np.array([0.0, 0.0, 99.0, 0.0])
    work = full_pass.new_workspace(2, 4)
    best_value = full_pass.transitions_losses(tree.links, 1000, state_visits, sequence_visits, totals, work)
    assert best_value == pytest.approx(0.1)
    ending, loss, wide = full_pass.max_ucb_ending(tree.links, work, plays, -1, 9.0, False, 0, 0)
    assert ending == 3
    assert best_value - loss + 9.0 * wide == pytest.approx(0.9)


def test_ties_are_broken_uniformly():
    tree = ts.InfostateTree(
        first_sequence=[1, 4],
        first_child=[0, 1, 1, 1, 1],
        parent=[0],
        action=[0, 0, 1, 2],
        can_end=[False] + [True] * 3,
    )
    work = full_pass.new_workspace(1, 4)
    plays, totals = np.ones(4, np.int32), np.zeros(4)
    full_pass.counts_losses(tree.links, plays, totals, work)
    picks = [full_pass.best_action(tree.links, work.local_loss, 0, 7, time) for time in range(3000)]
    leads = [full_pass.max_ucb_ending(tree.links, work, plays, -1, 1.0, False, 7, time)[0] - 1 for time in range(3000)]
    for chosen in (picks, leads):
        assert np.all(np.abs(np.bincount(chosen, minlength=3) - 1000) < 120)

import numpy as np
import pytest

import tmdp_spiel as ts
from reference import brute_force
from reference.empirical_model import Episodes, best_values, play
from tmdp_spiel.trees.random_tree import random_tree_mdp


def written_out_bounds(tree, reference, variant, c, delta):
    sequences = tree.num_sequences

    def bounds(j, state_upper, state_lower):
        after = reference.after[j]
        n = len(after)
        variance = reference.followed_by(j, state_upper).var()
        states = [x for kind, x in after if kind == "state"]
        width = sum((state_upper[s] - state_lower[s]) ** 2 for s in states) / n
        if variant == "strong_euler":
            log = np.log(10 * sequences**2 * n / delta)
            m = len(range(*tree.first_child[j : j + 2])) + tree.can_end[j]
            bonus = np.sqrt(2 * variance * log / n) + 8 * log / (3 * n)
            bonus += np.sqrt(m * width * log / n) + 8 * m * log / (3 * n)
        elif variant == "euler":
            log = np.log(4 * sequences / (delta / 7))
            bonus = np.sqrt(2 * variance * log / n) + log / (3 * n)  # Bernstein: phi(p-hat, V)
            bonus += (4 * log / 3 + np.sqrt(2 * log)) / n + np.sqrt(2 * width * log / n)  # (4 J + B_p) / n, B_v
        else:
            log = np.log(5 * sequences / delta)
            doubt = sum(min(1, log**2 / reference.visits(s)) for s in states) / n
            bonus = np.sqrt(8 * variance * log / n) + 14 * log / (3 * n) + np.sqrt(8 * doubt / n)
        upper = min(1, reference.followed_by(j, state_upper).mean() + c * bonus)
        lower = 0 if variant == "ucbvi_bf" else max(0, reference.followed_by(j, state_lower).mean() - c * bonus)
        return upper, lower

    return bounds


@pytest.mark.parametrize("variant", ["strong_euler", "euler", "ucbvi_bf"])
def test_bounds_are_those_of_a_whole_pass(variant, mdp_of):
    rng = np.random.default_rng(0)
    for mdp in [mdp_of("kuhn", 0), mdp_of("leduc", 1)] + [brute_force.random_mdp(rng) for _ in range(10)]:
        learner, reference = ts.StrongEuler(mdp.tree, variant=variant, c=0.05, delta=0.1, seed=2), Episodes(mdp.tree)
        play(learner, mdp, rng, 200, reference)
        upper, lower = reference.bottom_up(written_out_bounds(mdp.tree, reference, variant, 0.05, 0.1), with_root=False)
        np.testing.assert_allclose(learner.upper[:-1], upper[:-1], atol=1e-10)
        np.testing.assert_allclose(learner.lower[:-1], lower[:-1], atol=1e-10)
        for state in range(mdp.tree.num_states):
            own = upper[mdp.tree.first_sequence[state] : mdp.tree.first_sequence[state + 1]]
            assert own[learner.plan()[state]] == pytest.approx(own.max(), abs=1e-10)


@pytest.mark.parametrize("variant", ["strong_euler", "euler", "ucbvi_bf"])
def test_the_bonus_of_the_analysis_is_optimistic(variant):
    mdp = random_tree_mdp(np.random.default_rng(4), max_states=10, first_states=2)
    truth = best_values(mdp)[:-1]
    for seed in range(20):
        learner = ts.StrongEuler(mdp.tree, variant=variant, c=1.0, seed=seed)
        rng = np.random.default_rng(seed)
        for episodes in (10, 100, 1000, 10000):
            ts.run(learner, mdp, episodes, rng=rng, progress=False)
            assert np.all(learner.upper[:-1] > truth - 1e-9) and np.all(learner.lower[:-1] < truth + 1e-9)

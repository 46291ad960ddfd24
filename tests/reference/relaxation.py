"""Information relaxation and control variates written out: every scenario listed, every path by recursion."""

import itertools

import tmdp_spiel as ts


def continuations(mdp: ts.TreeMDP, sequence: int):
    """[(probability, child state or None, return)] after a sequence, given that it was reached."""
    tree, reach = mdp.tree, 1.0
    if sequence != tree.root:
        reach = mdp.reach[next(s for s in range(tree.num_states) if tree.first_sequence[s + 1] > sequence)]
    children = range(tree.first_child[sequence], tree.first_child[sequence + 1])
    found = [(mdp.reach[child] / reach, child, None) for child in children if mdp.reach[child] > 0]
    for at in range(mdp.first_outcome[sequence], mdp.first_outcome[sequence + 1]):
        if mdp.outcome_probability[at] > 0:
            found.append((mdp.outcome_probability[at] / reach, None, mdp.outcome_return[at]))
    return found


def expected(mdp: ts.TreeMDP, values, sequence: int) -> float:
    return sum(p * (result if child is None else values[child]) for p, child, result in continuations(mdp, sequence))


def scenarios(mdp: ts.TreeMDP, values):
    """Every scenario with its probability: (probability, best of return - sum of W(next) - E[W(next)] over paths)."""
    tree = mdp.tree

    def sequences(state):
        return range(tree.first_sequence[state], tree.first_sequence[state + 1])

    reachable = [j for state in range(tree.num_states) if mdp.reach[state] > 0 for j in sequences(state)] + [tree.root]
    for chosen in itertools.product(*(continuations(mdp, j) for j in reachable)):
        after = dict(zip(reachable, chosen))

        def best(sequence, penalties):
            _, child, result = after[sequence]
            mean = expected(mdp, values, sequence)
            if child is None:
                return result - penalties - (result - mean)
            return max(best(j, penalties + values[child] - mean) for j in sequences(child))

        probability = 1.0
        for chance, _, _ in chosen:
            probability *= chance
        yield probability, best(tree.root, 0.0)


def episodes(mdp: ts.TreeMDP, values, plan):
    """Every episode of a mixed plan with its probability, its return, and its return less W(next) - E[W(next)]."""
    tree = mdp.tree

    def follow(sequence, probability, penalties):
        mean = expected(mdp, values, sequence)
        for chance, child, result in continuations(mdp, sequence):
            if child is None:
                yield probability * chance, result, result - penalties - (result - mean)
            else:
                for j in range(tree.first_sequence[child], tree.first_sequence[child + 1]):
                    if plan[j] > 0:
                        yield from follow(j, probability * chance * plan[j], penalties + values[child] - mean)

    yield from follow(tree.root, 1.0, 0.0)

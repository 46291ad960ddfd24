"""Draws docs/images/concepts.png: Kuhn poker's tree of player 0 with its states, sequences, endings and a plan marked.

python docs/draw_concepts.py
"""

import fractions
import pathlib

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

import tmdp_spiel as ts
from tmdp_spiel.core import plotting

CARDS, ACTIONS = "JQK", ("pass", "bet")
INK, QUIET, PLAN, STATE, ENDING = "#22303c", "#9aa5b1", "#d1661a", "#e3ecf7", "#f1f4ee"
NOTE = {"fontfamily": "DejaVu Serif", "fontstyle": "italic", "fontsize": 11.5, "color": "#1f5fa8"}
COLUMN, ROOT_HEIGHT, TOP, MIDDLE, BELOW, BOTTOM = 4.5, 6.1, 4.75, 3.3, 1.75, 0.35


def positions(tree: ts.InfostateTree) -> tuple[dict[int, tuple[float, float]], dict[int, tuple[float, float]]]:
    """Where states and sequences are drawn: a column a card, a second state below the pass that leads to it."""
    states, sequences = {}, {}
    for state in range(tree.num_states):
        first = tree.parent[state] == tree.root
        if first:
            x, y, spread, height = COLUMN * state, TOP, 1.15, MIDDLE
        else:
            x, y, spread, height = sequences[tree.parent[state]][0] + 0.62, BELOW, 0.68, BOTTOM
        states[state] = (x, y)
        for j, side in zip(range(tree.first_sequence[state], tree.first_sequence[state + 1]), (-1, 1)):
            sequences[j] = (x + side * spread, height)
    return states, sequences


def played_sequences(tree: ts.InfostateTree, plan) -> set[int]:
    """The sequences that a plan plays: its action at every state that it reaches itself."""
    played = {tree.root}
    for state in range(tree.num_states):
        if tree.parent[state] in played:
            played.add(int(tree.first_sequence[state] + plan[state]))
    return played


def outcomes_text(mdp: ts.TreeMDP, sequence: int) -> str:
    """The returns of a sequence in utility units, each with its chance."""
    lines = []
    for outcome in range(mdp.first_outcome[sequence], mdp.first_outcome[sequence + 1]):
        chance = fractions.Fraction(mdp.outcome_probability[outcome]).limit_denominator(1000)
        lines.append(f"{mdp.to_utility(mdp.outcome_return[outcome]):+.0f}: {chance}".replace("-", "−"))
    return "\n".join(lines)


def draw_edge(panel, start, end, played: bool, dashed: bool = False) -> None:
    style = {"color": PLAN, "lw": 3.4} if played else {"color": QUIET, "lw": 1.3}
    if dashed:
        style = {"color": QUIET, "lw": 1.3, "ls": (0, (3, 2.5))}
    panel.plot(*zip(start, end), **style, solid_capstyle="round", zorder=1)


def draw_state(panel, tree: ts.InfostateTree, state: int, at) -> None:
    name = tree.state_string(state)
    panel.text(
        *at,
        CARDS[int(name[0])] + name[1:].replace("pb", "\npass, bet"),
        ha="center",
        va="center",
        fontsize=13 if len(name) == 1 else 8.5,
        color=INK,
        zorder=3,
        linespacing=1.05,
        bbox={"boxstyle": f"circle,pad={0.5 if len(name) == 1 else 0.3}", "fc": STATE, "ec": "#4a6b93", "lw": 1.3},
    )


def draw_ending(panel, mdp: ts.TreeMDP, sequence: int, at, below, played: bool) -> None:
    draw_edge(panel, at, below, False, dashed=True)
    panel.text(
        *below,
        outcomes_text(mdp, sequence),
        ha="center",
        va="top",
        fontsize=9,
        color=INK,
        zorder=3,
        linespacing=1.25,
        bbox={
            "boxstyle": "square,pad=0.35",
            "fc": "#fdeadb" if played else ENDING,
            "ec": PLAN if played else "#8c9a86",
        },
    )


def say(panel, text: str, where, at) -> None:
    """An explanation in the margin, with a line to what it explains."""
    start = 1 if where[0] < at[0] else 0
    panel.annotate(
        text,
        at,
        where,
        ha="left",
        va="center",
        linespacing=1.3,
        arrowprops={
            "arrowstyle": "-",
            "color": "#7fa3cf",
            "lw": 1.0,
            "shrinkA": 4,
            "shrinkB": 3,
            "relpos": (start, 0.5),
        },
        **NOTE,
    )


def explain(panel, states, sequences) -> None:
    left, right = -5.3, 2 * COLUMN + 1.05
    say(panel, "root: nothing done yet", (COLUMN + 1.5, ROOT_HEIGHT + 0.12), (COLUMN, ROOT_HEIGHT))
    say(panel, "dashed: chance deals,\nor the opponent acts", (right, TOP + 0.95), (COLUMN * 1.55, 5.36))
    say(
        panel,
        "state: all that the player knows\nwhen it has to act; first, its card",
        (left, TOP + 0.55),
        (states[0][0] - 0.25, TOP + 0.05),
    )
    pass_at_jack = (states[0][0] + sequences[1][0]) / 2 - 0.14, (TOP + MIDDLE) / 2 - 0.2
    say(panel, "sequence: a state and\nan action taken there", (left, MIDDLE + 0.32), pass_at_jack)
    say(
        panel,
        "ending: episodes can end\nright after this sequence;\nreturns and their chances",
        (left, MIDDLE - 0.88),
        (sequences[1][0] - 1.0, MIDDLE - 0.76),
    )
    say(
        panel,
        "a later state: the player passed,\nthe opponent bet",
        (left, BELOW - 0.35),
        (states[3][0] - 0.42, BELOW - 0.02),
    )
    say(
        panel,
        "episode: one way down;\nK, pass, the opponent\nbets, bet: return +2",
        (right, BELOW - 0.35),
        (sequences[12][0] + 0.35, BOTTOM - 0.72),
    )


@plotting.styled
def draw(mdp: ts.TreeMDP, plan, path: pathlib.Path) -> None:
    tree = mdp.tree
    states, sequences = positions(tree)
    played = played_sequences(tree, plan)
    figure, panel = plt.subplots(figsize=(14, 8), layout="none")
    root = (COLUMN, ROOT_HEIGHT)
    for state, at in states.items():
        first = tree.parent[state] == tree.root
        draw_edge(panel, root if first else sequences[tree.parent[state]], at, False, dashed=True)
        for action, j in enumerate(range(tree.first_sequence[state], tree.first_sequence[state + 1])):
            x, y = sequences[j]
            draw_edge(panel, at, (x, y), j in played)
            panel.plot(x, y, "o", ms=7, color=PLAN if j in played else QUIET, zorder=2)
            side = 1 if action else -1
            panel.text(
                (at[0] + x) / 2 + side * 0.16,
                (at[1] + y) / 2 + 0.06,
                ACTIONS[tree.action[j]],
                ha="left" if action else "right",
                fontsize=9.5,
                color=PLAN if j in played else "#5d6873",
                fontweight="bold" if j in played else "normal",
            )
            goes_on = tree.first_child[j] < tree.first_child[j + 1]
            draw_ending(panel, mdp, j, (x, y), (x - 0.62 if goes_on else x, y - 0.62), j in played)
        draw_state(panel, tree, state, at)
    panel.plot(*root, "s", ms=10, color=INK, zorder=3)

    explain(panel, states, sequences)
    wins = (
        f"plan: an action for every state (thick where it gets there); this one wins {mdp.value(plan):+.1f} on average"
    )
    figure.text(0.5, 0.035, wins, ha="center", **{**NOTE, "color": PLAN, "fontsize": 13.5})
    panel.set(xlim=(-5.4, 2 * COLUMN + 3.9), ylim=(-0.9, ROOT_HEIGHT + 0.35))
    panel.axis("off")
    figure.subplots_adjust(0.01, 0.06, 0.99, 0.99)
    figure.savefig(path, dpi=130)


def main() -> None:
    game = ts.load_game("kuhn")
    mdp = ts.build_tree(game, player=0, opponent=ts.uniform(game))
    draw(mdp, mdp.best_response()[1], pathlib.Path(__file__).parent / "images" / "concepts.png")


if __name__ == "__main__":
    main()

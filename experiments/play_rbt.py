r"""Play Reconnaissance Blind Tic-Tac-Toe in the terminal against the equilibrium.

python -m experiments.play_rbt --mark=o --seed=7
"""

import numpy as np
from absl import flags

from experiments.sweep.binary import run_binary
from tmdp_spiel.games.rbt import game as rbt, policy_file

_MARK = flags.DEFINE_enum("mark", "x", ["x", "o"], "the mark that you play; x moves first")
_SEED = flags.DEFINE_integer("seed", None, "seed of the opponent's random choices")
_POLICY = flags.DEFINE_string("policy", str(policy_file.SHIPPED), "file of the opponent's policy")

_HELP = """The squares are    0 1 2     the senses      tl tr
                   3 4 5     (2x2 windows)   bl br
                   6 7 8
You see only what you sense. Moving on a square the opponent holds loses at once.
? is a square you know nothing about, . one that you have just sensed empty. q quits."""


def main() -> None:
    human = rbt.MARKS.index(_MARK.value)
    policy = policy_file.read(_POLICY.value)
    rng = np.random.default_rng(_SEED.value)
    state = policy.game.new_initial_state()
    print(_HELP)
    while not state.is_terminal():
        if state.current_player() == human:
            show(state.view(human))
            action = ask(state)
            if action is None:
                print("\nGood-bye.")
                return
        else:
            chances = policy.action_probabilities(state)
            action = int(rng.choice(list(chances), p=list(chances.values())))
            print(f"{rbt.MARKS[1 - human]} {'senses' if action >= rbt.FIRST_SENSE else 'moves'}.")
        state.apply_action(action)
    print("\nThe game is over. The board:")
    show(state.board)
    print({1.0: "You win.", 0.0: "A draw.", -1.0: "You lose."}[state.returns()[human]] + how_it_ended(state))


def show(board):
    print()
    for row in (0, 3, 6):
        print("   " + " ".join(board[row : row + 3]))
    print()


def ask(state):
    """A legal action from the keyboard, or None to quit."""
    legal = {name_to_type(action): action for action in state.legal_actions()}
    prompt = "Sense where? " if state.is_to_sense() else "Move where? "
    while True:
        try:
            answer = input(prompt).strip().lower()
        except EOFError:
            return None
        if answer in ("q", "quit"):
            return None
        if answer in legal:
            return legal[answer]
        print(f"{answer!r} is not possible now. Type one of: {' '.join(legal)} (or q to quit)")


def name_to_type(action):
    return rbt.WINDOW_LETTERS[action - rbt.FIRST_SENSE] if action >= rbt.FIRST_SENSE else str(action)


def how_it_ended(state):
    """The message for a last move to an occupied square."""
    mover = (state.num_moves - 1) % 2
    square = state.own_history[mover][-1]
    if state.board[square] == rbt.MARKS[1 - mover]:
        return f" {rbt.MARKS[mover]} moved on square {square}, which {rbt.MARKS[1 - mover]} held."
    return ""


if __name__ == "__main__":
    run_binary(main)

"""Opponents in Python files of users take no module's name, and can be sent to other processes."""

import concurrent.futures
import multiprocessing
import random
import subprocess
import sys

import pyspiel
import pytest

import tmdp_spiel as ts
from reference import commands
from tmdp_spiel.openspiel.opponents import user_files
from tmdp_spiel.openspiel.opponents.resolve import resolve_opponent

BOT = """
class Bot:
    answer = {answer}
    def step(self, state):
        return state.legal_actions()[self.answer]
"""


def bot_of(path):
    return resolve_opponent(ts.load_game("kuhn_poker"), f"{path}:Bot", player=0).players[1].bot.inner


def test_a_file_takes_no_name_of_a_module(tmp_path):
    paths = [tmp_path / name / "random.py" for name in ("one", "two")]
    for answer, path in enumerate(paths):
        path.parent.mkdir()
        path.write_text(BOT.format(answer=answer))
    one, two = map(bot_of, paths)
    assert sys.modules["random"] is random
    again = bot_of(paths[0])
    for bot, answer in ((one, 0), (two, 1), (again, 0)):
        assert user_files.loads(user_files.dumps(bot)).answer == bot.answer == answer


def answer_of(data):
    return user_files.loads(data).answer


def test_another_process_loads_the_file_itself(tmp_path):
    path = tmp_path / "bots.py"
    path.write_text(BOT.format(answer=1))
    data = user_files.dumps(bot_of(path))
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert executor.submit(answer_of, data).result() == 1


def test_an_object_of_a_file_plays_on_processes(tmp_path):
    path = tmp_path / "bots.py"
    path.write_text(BOT.format(answer=0))
    found = ts.exploit("kuhn_poker", bot_of(path), player=0, episodes=40, executor=1, progress=False)
    assert found.episodes == 40


@pytest.mark.parametrize(
    "text, said",
    [
        ("import no_such_module", "could not be imported: ModuleNotFoundError"),
        ("raise SystemExit(3)", "could not be imported: SystemExit"),
        ("def Bot(:", "could not be imported: SyntaxError"),
        (
            "class Bot:\n    def __init__(self):\n        raise RuntimeError('no model')",
            "the opponent Bot could not be ",
        ),
    ],
)
def test_errors_in_the_users_file_are_said(text, said, tmp_path):
    path = tmp_path / "bots.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        bot_of(path)
    if "import" in text:
        done = commands.run(commands.EXPLOIT, "--game=kuhn_poker", f"--opponent={path}:Bot")
        assert done.returncode == 1 and done.stderr.startswith("error: the opponent") and said in done.stderr


def test_a_bot_in_cpp_is_not_asked_as_a_player_it_is_not():
    """It ends the process, so another one tries."""
    code = """
import pyspiel, tmdp_spiel as ts
bot = pyspiel.make_uniform_random_bot(1, 3)
try:
    live = ts.LiveGame("kuhn_poker", 1, bot)
    live.play(ts.UCT(live.tree), 20)
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "as player 0: it ends the process" in done.stdout, done.stderr


def test_a_bot_in_cpp_as_a_responder():
    options = {"seconds": 2.0, "max_nodes": 10, "progress": False, "responder": pyspiel.make_uniform_random_bot(1, 3)}
    with pytest.raises(ValueError, match="the responder Bot cannot respond as player 0"):
        ts.exploit("tic_tac_toe", "uniform", player=0, **options)
    found = ts.exploit("tic_tac_toe", "uniform", player=1, **options)
    assert found.lower <= found.upper
    assert any("only one process" in remark for remark in found.remarks)

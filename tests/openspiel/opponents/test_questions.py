"""Opponents outside of Python: processes, servers and ACPC's players, and everything that they can do wrong."""

import http.server
import json
import pickle
import socket
import sys
import textwrap
import threading
import time

import pyspiel
import pytest

import tmdp_spiel as ts
from tmdp_spiel.openspiel.opponents.adapters import acpc, questions

KUHN = pyspiel.load_game("kuhn_poker")
POKER = ts.load_game("kuhn5")
SETTINGS = {"player": 0, "episodes": 300, "progress": False}
LAST = 'print(q["legal_actions"][-1])'
UNIFORM = 'import random; print(random.Random(q["seed"]).choice(q["legal_actions"]))'


@pytest.fixture
def process(tmp_path):
    """A process that runs a line of Python for each question q, its number n."""
    bots = []

    def make(body: str, **options) -> questions.ProcessBot:
        file = tmp_path / f"bot{len(bots)}.py"
        loop = "import json, sys, time\nfor n, line in enumerate(sys.stdin):\n    q = json.loads(line)\n"
        file.write_text(f"{loop}    {body}\n    sys.stdout.flush()\n", encoding="utf-8")
        bots.append(questions.ProcessBot([sys.executable, "-S", "-E", str(file)], **options))
        return bots[-1]

    yield make
    for bot in bots:
        bot.close()


class LastBot:
    def step(self, state):
        return state.legal_actions()[-1]


def after(*moves, game=KUHN):
    state = game.new_initial_state()
    for move in moves:
        state.apply_action(move)
    return state


def test_a_question_holds_what_the_player_knows_and_no_more():
    for cards in [(0, 1), (2, 1)]:
        asked = questions.question(after(*cards, 1), seed=3)
        assert asked == questions.question(after(0, 1, 1), seed=3)
    assert asked["legal_actions"] == [0, 1] and asked["action_names"] == ["Pass", "Bet"]
    assert asked["information_state"] == "1b" and "history" not in asked
    assert questions.question(pyspiel.load_game("tic_tac_toe").new_initial_state().child(4))["history"] == [4]


@pytest.mark.parametrize("answer", ["1", '"Bet"', "bet", ' {"action": 1, "why": "a king"}', '{"action": "Bet"}', '"1"'])
def test_answers_that_mean_an_action(answer):
    assert questions.read_action(answer + "\n", questions.question(after(0, 1))) == 1


@pytest.mark.parametrize("answer", ["", "2", "-1", "true", "1.0", "[1]", "I bet", '{"move": 1}', "null", "{"])
def test_answers_that_mean_none(answer):
    with pytest.raises(questions.AnswerError, match="is not a legal action; legal are 0 'Pass', 1 'Bet'"):
        questions.read_action(answer, questions.question(after(0, 1)))


def test_a_process_is_judged_as_the_same_bot_in_python(process, tmp_path):
    bot = process(LAST, log=tmp_path / "texts.jsonl")
    found, same = (ts.exploit("kuhn", each, **SETTINGS) for each in (bot, LastBot()))
    assert (found.lower, found.upper) == (same.lower, same.upper) and found.seats[0].failures == 0
    assert found.opponent.endswith("bot0.py")
    texts = [json.loads(line) for line in (tmp_path / "texts.jsonl").read_text(encoding="utf-8").splitlines()]
    asked = [json.loads(text["asked"]) for text in texts]
    assert len({each["episode"] for each in asked}) > 250 and {each["player"] for each in asked} == {1}
    assert all(text["answer"] == "1\n" and text["error"] is None for text in texts)


def test_a_command_for_the_shell(process):
    bot = process(LAST)
    found = ts.exploit("kuhn", f"process:{bot.__name__}", **SETTINGS)
    assert found.lower == ts.exploit("kuhn", LastBot(), **SETTINGS).lower


def test_a_random_process_is_seeded_by_its_questions(process):
    command = f"process:{process(UNIFORM).__name__}"
    one, same, other = (ts.exploit("kuhn", command, seed=seed, **SETTINGS).lower for seed in (5, 5, 6))
    assert one == same != other
    seeds = [questions.ProcessBot(command, seed=seed)._numbers.integers(2**31) for seed in (1, 1, 2, None, None)]
    assert seeds[0] == seeds[1] and len(set(seeds)) == 4


@pytest.mark.parametrize(
    "body, message",
    [
        ("sys.exit('out of cheese') if n == 5 else " + LAST, "ended with code 1 before it answered; .*out of cheese"),
        ("time.sleep(60 * (n == 5)); " + LAST, "did not answer within 0.5 s, and was ended"),
        (
            "print('hm' if n == 5 else q['legal_actions'][-1])",
            "the answer 'hm' is not a legal action; legal are 0 'Pass'",
        ),
        ("print(7)", "the answer '7' is not a legal action"),
        ("print(1); print(1); sys.stdout.flush(); time.sleep(0.05)", "before it was asked; one line an answer"),
    ],
    ids=["dies", "hangs", "nonsense", "illegal", "talks"],
)
def test_what_goes_wrong_is_named(process, body, message):
    bot = process(body, timeout=0.5 if "not answer" in message else 600)
    with pytest.raises(ts.OpponentError, match=message) as caught:
        ts.exploit("kuhn", bot, **SETTINGS)
    assert caught.value.result.seats[0].failures == 1
    assert "bot0.py" in str(caught.value) and questions._SESSIONS[bot].connection is None


def test_failed_episodes_count_as_the_worst_and_the_process_is_started_again(process, tmp_path):
    bot = process("sys.exit(3) if n == 40 else " + LAST, log=tmp_path / "texts")
    found = ts.exploit("kuhn", bot, on_error="skip", **{**SETTINGS, "episodes": 1000})
    # Every 41st question to a process fails.
    errors = [json.loads(line)["error"] for line in (tmp_path / "texts").read_text(encoding="utf-8").splitlines()]
    failed = [number for number, error in enumerate(errors) if error]
    assert failed[:3] == [40, 81, 122] and found.seats[0].failures == len(failed)
    best = ts.exploit("kuhn", lambda state: {state.legal_actions()[-1]: 1.0}, **SETTINGS).seats[0].exact_best
    assert found.lower <= best <= found.upper


def test_a_process_that_never_answers_is_given_up(process, tmp_path):
    bot = process("sys.exit(3)", restarts=2, log=tmp_path / "texts")
    with pytest.raises(ts.OpponentError, match="episodes, which is too often to continue") as caught:
        ts.exploit("kuhn", bot, on_error="skip", **SETTINGS)
    assert "on_error" not in str(caught.value) and str(caught.value).endswith("Fix the opponent")
    assert len((tmp_path / "texts").read_text(encoding="utf-8").splitlines()) == 3  # then it is not asked again
    with pytest.raises(questions.AnswerError, match=r"given up after 3 failures in a row \(restarts=2\)"):
        bot.step(after(0, 1))


def test_a_process_is_ended_with_its_bot(process):
    bot = process(LAST)
    bot.step(after(0, 1))
    started = questions._SESSIONS[bot].connection.process
    assert started.poll() is None
    bot.close()
    assert started.poll() is not None
    assert bot.step(after(0, 1)) == 1


def test_a_bot_can_be_copied_and_pickled(process):
    bot = process(LAST)
    bot.step(after(0, 1))
    copied = pickle.loads(pickle.dumps(bot))
    assert copied.step(after(0, 1)) == 1
    assert questions._SESSIONS[copied].connection is not questions._SESSIONS[bot].connection
    copied.close()


def test_a_run_resumes_and_another_program_is_refused(process, tmp_path):
    bot = process(LAST)
    file = tmp_path / "run"
    ts.exploit("kuhn", bot, file=file, **SETTINGS)
    found = ts.exploit("kuhn", bot, file=file, **{**SETTINGS, "episodes": 600})
    assert found.seats[0].episodes > 300
    bot.files[-1].write_text(bot.files[-1].read_text(encoding="utf-8").replace("[-1]", "[0]"), encoding="utf-8")
    with pytest.raises(ValueError, match="its attributes have changed since"):
        ts.exploit("kuhn", questions.ProcessBot(bot.address), file=file, **{**SETTINGS, "episodes": 900})


def test_bad_addresses():
    with pytest.raises(ts.OpponentError, match="'no_such_program' cannot be started"):
        ts.exploit("kuhn", "process:no_such_program", **SETTINGS)
    with pytest.raises(ValueError, match="the command of a process is empty"):
        ts.exploit("kuhn", "process:", **SETTINGS)
    with pytest.raises(ValueError, match="timeout must be above 0 seconds, not 0"):
        questions.ProcessBot("x", timeout=0)
    for address in ("http://example.com:80/", "https://127.0.0.1:1/"):
        with pytest.raises(ValueError, match="a server needs a loopback address"):
            ts.exploit("kuhn", address, **SETTINGS)


# HTTP


@pytest.fixture
def server():
    """A server on loopback whose attribute `answer` makes (status, text, seconds to wait) of a question."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, text, seconds = self.server.answer(asked)
            time.sleep(seconds)
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.answer = lambda asked: (200, json.dumps({"action": asked["action_names"][-1]}), 0)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        server.address = f"http://127.0.0.1:{server.server_port}/act"
        yield server
        server.shutdown()


def test_a_server_is_judged_as_the_same_bot_in_python(server):
    found, same = (ts.exploit("kuhn", each, **SETTINGS) for each in (server.address, LastBot()))
    assert (found.lower, found.upper) == (same.lower, same.upper) and found.opponent == server.address


@pytest.mark.parametrize(
    "answer, timeout, message",
    [
        ((500, "out of cheese", 0), 600, "answered status 500, b'out of cheese'"),
        ((200, "1", 0.4), 0.2, "not answer within 0.2"),
    ],
)
def test_a_server_that_fails(server, answer, timeout, message):
    server.answer = lambda asked: answer
    with pytest.raises(ts.OpponentError, match=message):
        ts.exploit("kuhn", questions.HTTPBot(server.address, timeout=timeout), **SETTINGS)


def test_no_server():
    with pytest.raises(ts.OpponentError, match="http://127.0.0.1:9/ cannot be asked: .*refused"):
        ts.exploit("kuhn", "http://127.0.0.1:9/", **SETTINGS)


# ACPC

PLAYER = """
import socket, sys
connection = socket.create_connection((sys.argv[-2], int(sys.argv[-1])))
lines = connection.makefile("rw", newline="")
def say(text):
    lines.write(text + "\\r\\n"); lines.flush()
say("{version}")
for line in lines:
    state = line.strip()
    open({seen!r}, "a").write(state + "\\n")
    _, position, hand, betting, cards = state.split(":")
    asked = len(betting) % 2 == int(position) and betting not in ("cc", "rc", "crc", "rf", "crf")
    if asked:
        say("# thinking")
        say(state + ":" + ("{action}" if betting.count("r") < 1 else "c"))
"""


@pytest.fixture
def player(tmp_path):
    def make(action="r", version="VERSION:2.0.0", **options):
        file = tmp_path / "player.py"
        file.write_text(PLAYER.format(action=action, version=version, seen=str(tmp_path / "seen")), encoding="utf-8")
        bots.append(acpc.ACPCBot([sys.executable, "-S", "-E", str(file)], timeout=600, **options))
        return bots[-1]

    bots = []
    yield make
    for bot in bots:
        bot.close()


class Aggressive:
    """What the player above plays."""

    def step(self, state):
        return 2 if 2 in state.legal_actions() else 1


def test_an_acpc_player_is_judged_as_the_same_bot_in_python(player, tmp_path):
    found, same = (ts.exploit(POKER, each, **SETTINGS) for each in (player(), Aggressive()))
    assert (found.lower, found.upper) == (same.lower, same.upper)
    seen = (tmp_path / "seen").read_text(encoding="utf-8").splitlines()
    hands = {line.split(":")[2] for line in seen}
    assert len(hands) > 250
    # Its own cards at all times, the other's only at a showdown; every hand has its end.
    for line in seen:
        _, position, _, betting, cards = line.split(":")
        first, second = cards.split("|")
        assert position == "1" and second and bool(first) == (betting in ("cc", "rc", "crc"))
    assert {line.split(":")[3] for line in seen} >= {"c", "cr", "crc", "crf", "rc"}


def test_lines_to_an_acpc_player_are_not_delayed(player):
    bot = player()
    bot.restart()
    bot.step(after(0, 1, game=POKER))
    connected = questions._SESSIONS[bot].connection._socket
    assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_acpc_raises_with_their_size():
    game = pyspiel.load_game(
        "universal_poker(betting=nolimit,bettingAbstraction=fullgame,numPlayers=2,numRounds=2,blind=1 2,stack=20 20,"
        "firstPlayer=1 1,numSuits=2,numRanks=3,numHoleCards=1,numBoardCards=0 1)"
    )
    state = after(0, 1, game=game)
    asked = acpc.match_state(state, 0, 7)
    assert asked == "MATCHSTATE:0:7::2c|"
    assert acpc.read_action(asked + ":r7", asked, state) == 7
    assert acpc.read_action(asked + ":c", asked, state) == 1 and acpc.read_action(asked + ":f", asked, state) == 0
    with pytest.raises(
        questions.AnswerError, match="the action 'r99' after .* is not legal; legal are .'Fold', 'Call'"
    ):
        acpc.read_action(asked + ":r99", asked, state)
    with pytest.raises(questions.AnswerError, match="does not repeat the match state"):
        acpc.read_action("MATCHSTATE:0:6:::c", asked, state)
    pot = pyspiel.load_game(str(game).replace("fullgame", "fcpa"))
    state = after(0, 1, game=pot)
    sizes = {a: state.child(a).to_string().partition("STATE:0:")[2].partition(":")[0] for a in state.legal_actions()}
    assert {acpc.read_action(f"{asked}:{token}", asked, state): token for token in sizes.values()} == sizes


def test_acpc_players_that_fail(player, process):
    with pytest.raises(ts.OpponentError, match="began with 'HELLO', not with 'VERSION:2.0.0'"):
        ts.exploit(POKER, player(version="HELLO"), **SETTINGS)
    with pytest.raises(ts.OpponentError, match="the action 'q' after .* is not legal"):
        ts.exploit(POKER, player(action="q"), **SETTINGS)
    with pytest.raises(ts.OpponentError, match="ended with code 3.* before it connected"):
        ts.exploit(POKER, acpc.ACPCBot([sys.executable, "-S", "-c", "raise SystemExit(3)"]), **SETTINGS)
    with pytest.raises(ts.OpponentError, match="ACPC's protocol is for universal_poker; kuhn_poker"):
        ts.exploit("kuhn", player(), **SETTINGS)


def test_the_command_takes_a_process(process, tmp_path, monkeypatch, capsys):
    from tmdp_spiel.exploit import command

    flags = ["--game=kuhn", f"--opponent=process:{process(LAST).__name__}", "--episodes=100", "--player=0"]
    monkeypatch.setattr(sys, "argv", ["tmdp-exploit", *flags])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert not ended.value.code and "responses against" in capsys.readouterr().out


def test_the_example_of_the_module_is_a_question():
    documented = questions.__doc__.partition("    {")[2].partition("}")[0]
    keys = [*questions.question(after(0, 1, 1)), "episode", "seed"]
    assert set(json.loads("{" + textwrap.dedent(documented) + "}")) == set(keys)

"""Every command of experiments/ is started by a test: here with default flags, but for the smallest budget."""

import pathlib
import re
import shlex
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
RUNS = ROOT / "docs" / "runs"

# By command: the flags, {folder} a new one. Where all runs of the defaults ship in an archive, nothing has to be run.
COMMANDS = {
    "benchmarks.open_spiel": "--game=kuhn --repeats=1",
    "stress.run_all": "--parts=use --minutes=0",
    "research.drift_power": "--runs=1 --episodes=300 --opponents=alternates",
    "research.sharper_coverage": "--runs=1 --episodes=10",
    "benchmarks.ablation": "'--problems=kuhn x' --variants=default --runs=1 --results={folder}/runs",
    "benchmarks.agents_table": "'--rows_of=dark_hex(board_size=3)'",
    "research.identification_coverage": "--runs=1 --exploit_episodes=20",
    "examples.identify": "--epsilon=0.5",
    "benchmarks.parallel": "--stretches=1 --episodes=1 --simulations=1 --sleeping_episodes=30 --games=leduc_poker",
    "benchmarks.live_speed": "--seconds=0.1 --games=phantom_ttt",
    "examples.neural_opponent": "--episodes=8 --width=4",
    "benchmarks.responders": "--problems=connect_four --runs=1 --episodes=5 --seconds=0.01 --measured=2 "
    "--output={folder}",
    "benchmarks.train_agents": "--game=kuhn_poker --algorithm=nfsp --seconds=0.1 --output={folder}/agent.npz",
    "benchmarks.intervals": "--game=kuhn_poker --episodes=300 --seeds=1",
    "benchmarks.exact_games": "--repeats=1 --games=liars_dice(numdice=1,dice_sides=3)",
    "benchmarks.exact_learning": "--games=liars_dice(numdice=1,dice_sides=3) --opponents=uniform --episodes=100 "
    "--seeds=1 --certified=100 --output={folder}/runs.jsonl --pack={folder}/runs.jsonl.xz",
    "reproduce": f"--archive={RUNS}/learning.jsonl.xz,{RUNS}/stopping.jsonl.xz --output={{folder}}",
}
# By command: the tests that start it already.
STARTED_BY = {
    "research.coverage": "experiments/test_commands.py",
    "benchmarks.large_games": "experiments/test_large_games.py",
    "benchmarks.share_of_exact": "experiments/test_share_of_exact.py",
    "benchmarks.episode_cost": "experiments/test_commands.py",
    "exploit": "exploit/test_command.py",
    "interval": "experiments/test_interval.py",
    "learn": "experiments/test_commands.py",
    "play_rbt": "games/test_rbt_play.py",
    "compare": "experiments/test_compare.py",
    "solve_rbt": "games/test_rbt_equilibrium.py",
}
NEED_TORCH = ("benchmarks.responders", "benchmarks.train_agents")


def started(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", f"experiments.{module}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() and "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("module", COMMANDS)
def test_every_command_runs(module, tmp_path):
    if module in NEED_TORCH:
        pytest.importorskip("torch")
    started(module, *shlex.split(COMMANDS[module].format(folder=tmp_path)))


@pytest.mark.rbt
def test_a_stage_of_the_benchmark_of_rbt_runs():
    """The command itself is all its stages, each on the whole game, which take minutes."""
    assert "enumerate both trees" in started("benchmarks.rbt", "enumerate_trees")


def test_every_command_is_started_here():
    folder = ROOT / "experiments"
    sources = [path for path in folder.rglob("*.py") if '"__main__"' in path.read_text("utf-8")]
    binaries = {".".join(path.relative_to(folder).with_suffix("").parts) for path in sources}
    assert binaries == {*COMMANDS, *STARTED_BY, "benchmarks.rbt"}  # the last by the test above
    for module, tests in STARTED_BY.items():
        assert re.search(rf'"(experiments\.)?{re.escape(module)}"', (ROOT / "tests" / tests).read_text("utf-8")), module


def documented() -> list[tuple[str, str]]:
    """The lines of the documentation that start a command: (page, line)."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Makefile", *(ROOT / "docs").rglob("*.md")]
    pages += (ROOT / "experiments").rglob("*.py")
    joined = ((page.name, re.sub(r"\\?\n *(?=--)", " ", page.read_text(encoding="utf-8"))) for page in pages)
    return [(page, line) for page, text in joined for line in re.findall(r"python -m experiments\.[^`\n|#]*", text)]


def test_documented_commands_and_their_flags_are_there():
    source = "".join(path.read_text("utf-8") for path in (ROOT / "experiments").rglob("*.py"))
    source += (ROOT / "tmdp_spiel" / "exploit" / "command.py").read_text("utf-8")
    flags = set(re.findall(r'(?:DEFINE\w*|define_\w+|add_argument)\(\s*"(?:--)?(\w+)"', source)) | {"help", "helpfull"}
    found = documented()
    assert len(found) > 40
    for page, line in found:
        module = re.match(r"python -m experiments\.([\w.]*\w|)", line).group(1)
        assert not module or (ROOT / "experiments" / f"{module.replace('.', '/')}.py").exists(), f"{page}: {line}"
        for flag in re.findall(r"--(\w+)", line):
            assert flag in flags or flag.removeprefix("no") in flags, f"{page}: {line}"


def test_examples_are_short():
    for path in (ROOT / "experiments" / "examples").glob("*.py"):
        assert len(path.read_text("utf-8").splitlines()) <= 40, path.name

"""Every command of experiments/ is started by a test: here with default flags, but for the smallest budget."""

import pathlib
import re
import shlex

import pytest

from reference import commands

ROOT = pathlib.Path(__file__).parents[2]
RUNS = ROOT / "docs" / "runs"

# By command: the flags, {folder} a new one. Where all runs of the defaults ship in an archive, nothing has to be run.
COMMANDS = {
    "stress.run_all": "--parts=use --minutes=0",
    "research.error_rates": "--only=theorem_1,identification,exploit,live,drift,widths --runs=1 --episodes=60 "
    "--rows=kuhn --rows=BettingOnD --rows=alternates "
    "'--rows=one process, enumerated tree, class, one call'",
    "benchmarks.ablation": "'--problems=kuhn x' --variants=default --runs=1 --results={folder}/runs",
    "examples.identify": "--epsilon=0.5",
    "benchmarks.responders": "--problems=connect_four --runs=1 --episodes=5 --seconds=0.01 --measured=2 "
    "--output={folder}",
    "benchmarks.exact_learning": "--games=liars_dice(numdice=1,dice_sides=3) --opponents=uniform --episodes=100 "
    "--seeds=1 --certified=100 --output={folder}/runs.jsonl --pack={folder}/runs.jsonl.xz",
    "reproduce": f"--archive={RUNS}/learning.jsonl.xz,{RUNS}/stopping.jsonl.xz --output={{folder}}",
}
# By command: the tests that start it already.
STARTED_BY = {
    "benchmarks.agents_table": "experiments/test_agents_table.py",
    "benchmarks.speed": "experiments/test_commands.py",
    "benchmarks.large_games": "experiments/test_large_games.py",
    "benchmarks.share_of_exact": "experiments/test_share_of_exact.py",
    "examples.play": "experiments/test_commands.py",
    "interval": "experiments/test_interval.py",
    "learn": "experiments/test_commands.py",
    "compare": "experiments/test_compare.py",
    "solve_rbt": "games/test_rbt_equilibrium.py",
}
NEED_TORCH = ("benchmarks.responders",)


@pytest.mark.slow
@pytest.mark.parametrize("module", COMMANDS)
def test_every_command_runs(module, tmp_path):
    if module in NEED_TORCH:
        pytest.importorskip("torch")
    done = commands.run(f"experiments.{module}", *shlex.split(COMMANDS[module].format(folder=tmp_path)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() and "Traceback" not in done.stderr, done.stderr


def test_every_command_is_started_here():
    folder = ROOT / "experiments"
    sources = [path for path in folder.rglob("*.py") if '"__main__"' in path.read_text("utf-8")]
    binaries = {".".join(path.relative_to(folder).with_suffix("").parts) for path in sources}
    assert binaries == {*COMMANDS, *STARTED_BY}
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
        assert not module or module in {*COMMANDS, *STARTED_BY}, f"{page}: {line}"
        for flag in re.findall(r"--(\w+)", line):
            assert flag in flags or flag.removeprefix("no") in flags, f"{page}: {line}"


def test_examples_are_short():
    for path in (ROOT / "experiments" / "examples").glob("*.py"):
        assert len(path.read_text("utf-8").splitlines()) <= 40, path.name

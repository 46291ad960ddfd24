"""The benchmark of large games, started as a user starts it, and its table in the documentation."""

import json
import lzma
import pathlib
import re

from reference import commands

ROOT = pathlib.Path(__file__).parents[2]
ARCHIVE = "docs/runs/large_games.jsonl.xz"


def benchmark(*flags):
    return commands.run("experiments.benchmarks.large_games", *flags)


def test_runs_are_printed_and_stored(tmp_path):
    output, archive = tmp_path / "runs.jsonl", tmp_path / "runs.jsonl.xz"
    flags = ["--seconds=1", "--clock=processor", f"--output={output}", f"--archive={archive}"]
    done = benchmark("--games=tic_tac_toe;no_such_game", *flags)
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in output.read_text().splitlines()]
    assert [run["game"] for run in runs] == ["tic_tac_toe", "no_such_game"]
    assert runs[0]["lower"] <= runs[0]["upper"] and "no_such_game" in runs[1]["failed"]
    again = benchmark("--games=tic_tac_toe;kuhn_poker", "--black_box", *flags)
    assert again.returncode == 0 and "kuhn_poker` as a bot" in again.stdout, again.stderr
    shown = benchmark("--stored", f"--archive={archive}")
    assert shown.returncode == 0 and shown.stdout.count("\n") == 2 + 4
    archive.write_bytes(lzma.compress(lzma.decompress(archive.read_bytes()).replace(b"tic_tac", b"tac_tic")))
    refused = benchmark("--stored", f"--archive={archive}")
    assert refused.returncode != 0 and "checksum" in refused.stderr


def test_the_table_of_the_notes_is_that_of_the_stored_runs():
    page = (ROOT / "docs/lab/large_games.md").read_text(encoding="utf-8")
    table = re.search(r"<!-- table: large_games -->\n(.*?)<!-- end -->", page, re.DOTALL)
    done = benchmark("--stored", f"--archive={ARCHIVE}")
    assert table is not None and done.returncode == 0, done.stderr
    assert table[1] == done.stdout, f"python -m experiments.benchmarks.large_games --archive={ARCHIVE} --stored"

"""The benchmark of large games, started as a user starts it."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def test_rows_are_printed_and_stored(tmp_path):
    output = tmp_path / "rows.jsonl"
    flags = [
        "--games=tic_tac_toe;kuhn_poker",
        "--seconds=1",
        "--clock=processor",
        "--processes=1",
        f"--output={output}",
    ]
    command = [sys.executable, "-m", "experiments.benchmarks.portfolio", *flags]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == [json.loads(line) for line in output.read_text().splitlines()]
    assert [row["game"] for row in rows] == ["tic_tac_toe", "kuhn_poker"]
    assert all(row["lower"] <= row["mean"] and row["candidates"] for row in rows)

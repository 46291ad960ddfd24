"""A slow black box played on the workers of a Ray cluster."""

import pytest

import tmdp_spiel as ts


def test_exploit_with_ray(tmp_path, monkeypatch):
    pytest.importorskip("ray")
    from tmdp_spiel.evaluation.executors import open_executor

    (tmp_path / "passing.py").write_text(
        "class Bot:\n    def step(self, state):\n        return state.legal_actions()[0]\n", encoding="utf-8"
    )
    with open_executor("ray") as executor:
        found = ts.exploit(
            "kuhn", f"{tmp_path / 'passing.py'}:Bot", player=1, episodes=400, executor=executor, progress=False
        )
    assert found.black_box and found.lower <= 1 <= found.upper and found.episodes == 400

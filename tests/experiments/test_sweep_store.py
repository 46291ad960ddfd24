"""The store: a result is found whole and of the configuration asked for, or refused."""

import dataclasses
import lzma
import pathlib

import pytest

from experiments.sweep import curves, store
from experiments.sweep.configuration import configuration
from experiments.sweep.result import Environment, Learning, Result, Timing
from tmdp_spiel.core import storage


def asked(seed=0, c=1.0, **more):
    return dataclasses.replace(configuration("learning", "leduc", 0, "UCT", {"c": c}, seed, 100), **more)


def result(seed=0, source="s", environment="e", **more):
    return Result(
        asked(seed, **more),
        {"source": source, "git_revision": f"revision of {source}"},
        Environment("leduc_poker()", 0.0, environment),
        Learning([1, 100], [0.1 + seed, 1 / 3], [1.0, 0.5]),
        Timing(1.0, [0.1, 0.9], host="here"),
    )


@pytest.fixture
def results(tmp_path):
    return store.Store(tmp_path)


def test_what_is_kept_is_found_to_the_last_bit(results):
    assert results.find(asked()) is None
    results.keep(result())
    assert results.find(asked()) == result()
    for other in (asked(1), asked(c=2.0), asked(player=1), asked(episodes=101), asked(iterations=7), asked(game="rbt")):
        assert results.find(other) is None
        assert results.path(other) != results.path(asked())


@pytest.mark.parametrize("damage", [lambda text: text[:-20], lambda text: text.replace("0.5", "0.4"), lambda text: ""])
def test_a_damaged_file_is_refused_and_named(results, damage):
    results.keep(result())
    results.keep(result(1))
    path = results.path(asked())
    path.write_text(damage(path.read_text()))
    with pytest.raises(store.RefusedResult, match=f"{path} is truncated or was altered; remove it"):
        results.find_all([asked(1), asked()])
    path.unlink()
    assert results.find_all([asked(1), asked()]) == [result(1)]


def test_a_run_of_another_configuration_is_refused(results):
    path = results.path(asked())
    storage.write_checked_json(path, result(seed=1).to_json())
    with pytest.raises(store.RefusedResult, match="another configuration"):
        results.find(asked())


def test_every_refused_file_is_named_at_once(results):
    for seed in range(3):
        results.keep(result(seed))
        results.path(asked(seed)).write_text("")
    with pytest.raises(store.RefusedResult) as refused:
        results.find_all([asked(seed) for seed in range(3)])
    assert str(refused.value).count("truncated") == 3


def test_runs_of_different_code_are_not_averaged_unless_asked():
    assert store.check_comparable([result(0), result(1)]) == []
    mixed = [result(0), result(1, source="t")]
    with pytest.raises(store.RefusedResult, match="UCT on leduc as player x were made by different code.*--mix_code"):
        store.check_comparable(mixed)
    assert "runs of different code are averaged" in store.check_comparable(mixed, mix_code=True)[0]
    warnings = store.check_comparable([result(0), result(0, source="t", c=2.0)])
    assert warnings == ["different algorithms were run by different versions of the code"]


def test_a_new_revision_of_the_same_source_is_the_same_code():
    later = result(1)
    later.code["git_revision"] = "another"
    assert store.check_comparable([result(0), later]) == []


def test_runs_against_different_opponents_are_refused_always():
    with pytest.raises(store.RefusedResult, match="met different opponents"):
        store.check_comparable([result(0), result(1, environment="f")], mix_code=True)


def test_curves_are_means_over_the_seeds_that_were_asked_for():
    runs = {"UCT": [asked(0), asked(1), asked(2)], "UCBT": []}
    found = curves.of_runs("regret", runs, [result(1), result(0), result(0, c=2.0)])
    assert list(found) == ["UCT"]
    assert found["UCT"].seeds == (0, 1)
    assert found["UCT"].mean.tolist() == pytest.approx([0.6, 1 / 3])
    assert found["UCT"].error.tolist() == pytest.approx([0.5, 0.0])
    assert found["UCT"].final == {0: 1 / 3, 1: 1 / 3}


def test_runs_that_the_clock_ended_are_compared_where_all_were_measured():
    limited = {"UCT": [asked(0, seconds=1.0), asked(1, seconds=1.0)]}
    runs = [result(0, seconds=1.0), result(1, seconds=1.0)]
    runs[1].outcome.episode = [1, 63]
    found = curves.of_runs("regret", limited, runs)["UCT"]
    assert found.episode.tolist() == [1] and found.values.tolist() == [[0.1], [1.1]]
    runs = [result(0), result(1)]
    runs[1].outcome.episode = [1, 63]
    with pytest.raises(store.RefusedResult, match="measured at different episodes"):
        curves.of_runs("regret", {"UCT": [asked(0), asked(1)]}, runs)


def test_any_game_string_and_player_has_a_path(results):
    path = results.path(asked(game="goofspiel(num_cards=4,players=3)", player=2))
    assert path.parts[-6:-2] == ("learning", "goofspiel_num_cards_4_players_3", "2", "UCT")


def test_an_archive_gives_back_its_runs(tmp_path, results):
    for seed in (2, 0, 1):
        results.keep(result(seed))
    assert store.pack(results.all(), tmp_path / "a.xz") == 3
    archived = store.Store(tmp_path / "empty", [tmp_path / "a.xz"])
    found = archived.find(asked(2))
    assert found.outcome == Learning([1, 100], [2.1, 0.333333], [1.0, 0.5])
    assert found.timing == Timing(1.0, [0.9])
    assert dataclasses.replace(found, outcome=0, timing=0) == dataclasses.replace(result(2), outcome=0, timing=0)
    assert archived.find(asked(3)) is None

    store.pack(reversed(archived.all()), tmp_path / "b.xz")
    assert (tmp_path / "a.xz").read_bytes() == (tmp_path / "b.xz").read_bytes()


def test_a_run_of_the_directory_comes_before_an_archived_one(tmp_path, results):
    store.pack([result(source="old"), result(1, source="old")], tmp_path / "a.xz")
    both = store.Store(results.directory, [tmp_path / "a.xz"])
    both.keep(result(source="new"))
    assert [each.code["source"] for each in both.find_all([asked(), asked(1)])] == ["new", "old"]
    assert sorted(each.code["source"] for each in both.all()) == ["new", "old"]


@pytest.mark.parametrize("where", [0, 40, -1])
def test_a_damaged_archive_is_refused(tmp_path, where):
    path = tmp_path / "a.xz"
    store.pack([result()], path)
    data = bytearray(path.read_bytes())
    data[where] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="truncated or was altered"):
        store.Store(tmp_path, [path])
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match="truncated or was altered"):
        store.unpack(path)


def test_an_archive_with_other_numbers_in_it_is_refused(tmp_path):
    path = tmp_path / "a.xz"
    store.pack([result()], path)
    path.write_bytes(lzma.compress(lzma.decompress(path.read_bytes()).replace(b"0.5", b"0.4")))
    with pytest.raises(ValueError, match="truncated or was altered"):
        store.unpack(path)


@pytest.mark.parametrize("name", ["learning", "compare", "responders", "stopping"])
def test_the_shipped_archives_are_read_and_written_again_to_the_same_text(tmp_path, name):
    path = pathlib.Path(__file__).parents[2] / "docs" / "runs" / f"{name}.jsonl.xz"
    runs = store.unpack(path)
    assert len(runs) > 300 and all(isinstance(each, Result) for each in runs)
    store.pack(runs, tmp_path / "again.xz")
    assert lzma.decompress((tmp_path / "again.xz").read_bytes()) == lzma.decompress(path.read_bytes())


def test_a_result_of_another_version_is_refused_and_named(results):
    data = result().to_json()
    data["outcome"]["speed"] = 1.0
    path = results.path(asked())
    storage.write_checked_json(path, data)
    with pytest.raises(store.RefusedResult, match=f"{path} is not a result that this version can read: .*'speed'"):
        results.find(asked())

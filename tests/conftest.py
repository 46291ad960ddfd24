import pytest

import tmdp_spiel as ts


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Tests never touch the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMDP_SPIEL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def leduc():
    return ts.load_game("leduc")


@pytest.fixture(scope="session")
def mdp_of(_own_cache):
    """The Tree MDP of a game and player against its CFR+ opponent, built once."""
    built = {}

    def build(name: str, player: int) -> ts.TreeMDP:
        if (name, player) not in built:
            game = ts.load_game(name)
            built[name, player] = ts.build_tree(game, player, ts.equilibrium(game, iterations=200))
        return built[name, player]

    return build

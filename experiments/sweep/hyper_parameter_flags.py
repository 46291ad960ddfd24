"""A flag for every hyper-parameter of every algorithm, named algorithm_keyword: --UCBT_c=0.5."""

from absl import flags

from experiments.sweep import data, run
from tmdp_spiel.algorithms.catalogue import catalogue


class _NumberOrWord(flags.ArgumentParser):
    """A number where it is one, else the word itself, which the learner knows or refuses."""

    syntactic_help = "a number or a word"

    def parse(self, argument):
        try:
            return float(argument)
        except ValueError:
            return argument


def _define_number_or_word(name, default, text):
    return flags.DEFINE(_NumberOrWord(), name, default, text)


_DEFINE = {
    (float,): flags.DEFINE_float,
    (int,): flags.DEFINE_integer,
    (bool,): flags.DEFINE_bool,
    (str,): flags.DEFINE_string,
}


def chosen(game: str, algorithm: str) -> dict:
    """The paper's constants on that game, and what the flags say instead."""
    given = {keyword: _FLAGS[algorithm, keyword].value for keyword in run.hyper_parameters_of(algorithm)}
    return data.CONSTANTS[game].get(algorithm, {}) | {name: value for name, value in given.items() if value is not None}


def _define(algorithm: str, keyword: str, parameter) -> flags.FlagHolder:
    default = {
        game: constants.get(algorithm, {}).get(keyword, parameter.default) for game, constants in data.CONSTANTS.items()
    }
    by_game = ", ".join(f"{value} on {game}" for game, value in default.items())
    text = f"{keyword} of {data.label(algorithm)}; if not given, {by_game}."
    return _DEFINE.get(parameter.types, _define_number_or_word)(f"{algorithm}_{keyword}", None, text)


_FLAGS = {
    (algorithm, keyword): _define(algorithm, keyword, parameter)
    for algorithm in catalogue()
    for keyword, parameter in run.hyper_parameters_of(algorithm).items()
}

"""A flag for every hyper-parameter of every algorithm, named algorithm_keyword: --UCBT_c=0.5."""

from absl import flags

from experiments.sweep.configuration import hyper_parameters_of
from experiments.sweep.names import label
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


def given(algorithm: str) -> dict:
    """What the flags say of that algorithm."""
    chosen = {keyword: _FLAGS[algorithm, keyword].value for keyword in hyper_parameters_of(algorithm)}
    return {keyword: value for keyword, value in chosen.items() if value is not None}


def _define(algorithm: str, keyword: str, parameter) -> flags.FlagHolder:
    text = f"{keyword} of {label(algorithm)}; if not given, the paper's where it has one, else {parameter.default}."
    return _DEFINE.get(parameter.types, _define_number_or_word)(f"{algorithm}_{keyword}", None, text)


_FLAGS = {
    (algorithm, keyword): _define(algorithm, keyword, parameter)
    for algorithm in catalogue()
    for keyword, parameter in hyper_parameters_of(algorithm).items()
}

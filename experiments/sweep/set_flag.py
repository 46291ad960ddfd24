"""The flag --set: hyper-parameters of learners by name, such as --set UCBT.c=0.5."""

import re
import typing
from collections.abc import Iterable

from absl import app, flags

from experiments.sweep.configuration import hyper_parameters_of
from tmdp_spiel.algorithms.catalogue import catalogue

_SET = flags.DEFINE_multi_string(
    "set",
    [],
    "A hyper-parameter of a learner, such as UCBT.c=0.5; may be given several times. If not given: the paper's "
    "constant if there is one, otherwise the learner's default.",
)
_WORDS = {"true": True, "false": False}


def parse(setting: str) -> tuple[str, str, typing.Any]:
    """The learner, the name and the value of a setting; a flags.ValidationError names the possible ones."""
    parts = re.fullmatch(r"(\w+)\.(\w+)=(.*)", setting)
    if parts is None:
        raise flags.ValidationError(f"{setting!r} does not look like UCBT.c=0.5")
    algorithm, name, text = parts.groups()
    if algorithm not in catalogue():
        raise flags.ValidationError(f"no learner is called {algorithm!r}; choose from {', '.join(catalogue())}")
    known = hyper_parameters_of(algorithm)
    if name not in known:
        raise flags.ValidationError(f"{algorithm} has no {name!r}; it has {', '.join(known) or 'no hyper-parameters'}")
    for kind in known[name].types:
        try:
            return algorithm, name, _WORDS[text.lower()] if kind is bool else kind(text)
        except (ValueError, KeyError):
            continue
    kinds = " or ".join(kind.__name__ for kind in known[name].types)
    raise flags.ValidationError(f"{setting!r}: {name} of {algorithm} must be {kinds}, not {text!r}")


def _can_be_parsed(settings: list[str]) -> bool:
    for each in settings:
        parse(each)
    return True


flags.register_validator("set", _can_be_parsed)


def given(algorithm: str) -> dict[str, typing.Any]:
    """The flag's values for a learner; if a hyper-parameter is given twice, the last one."""
    return {name: value for learner, name, value in map(parse, _SET.value) if learner == algorithm}


def check_used(algorithms: Iterable[str]) -> None:
    """Raises an error for a setting of a learner that is not used."""
    there = list(algorithms)
    for learner in dict.fromkeys(parse(each)[0] for each in _SET.value):
        if learner not in there:
            raise app.UsageError(f"--set names {learner}, but the learners are {', '.join(there) or 'none'}")

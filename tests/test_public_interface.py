"""Public functions have types, say what they take and return, and have an example that is run."""

import doctest
import importlib
import inspect
import pathlib
import re
import sys
import types

import pytest

import tmdp_spiel as ts

REFERENCE = (pathlib.Path(__file__).parents[1] / "docs" / "api.md").read_text(encoding="utf-8")


def documented():
    """What the reference lists, by name: functions and classes, with their modules in front, and whole modules."""
    for path in re.findall(r"^::: ([\w.]+)$", REFERENCE, re.MULTILINE):
        module, _, name = path.rpartition(".")
        each = getattr(importlib.import_module(module), name, None)
        yield name, importlib.import_module(path) if each is None else each


DOCUMENTED = dict(documented())
PUBLIC = {name: getattr(ts, name) for name in ts.__all__} | DOCUMENTED
FUNCTIONS = {name: each for name, each in PUBLIC.items() if isinstance(each, types.FunctionType)}
CLASSES = {name: each for name, each in PUBLIC.items() if inspect.isclass(each) and not issubclass(each, Warning)}
EXAMPLE_ELSEWHERE = {"load_learner": "save_learner", "load_response": "save_response", "read_policy": "write_policy"}
EXAMPLE_ELSEWHERE["respond_with_portfolio"] = "save_response"


def test_the_reference_lists_every_public_name():
    assert set(ts.__all__) - {"__version__"} <= set(DOCUMENTED)
    assert all(getattr(ts, name) is DOCUMENTED[name] for name in set(ts.__all__) - {"__version__"})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_example_of_a_public_function(name):
    function = FUNCTIONS[name]
    examples = doctest.DocTestFinder(recurse=False).find(function, name, module=sys.modules[function.__module__])
    runner = doctest.DocTestRunner()
    results = [runner.run(example) for example in examples]
    assert sum(result.failed for result in results) == 0
    if name in EXAMPLE_ELSEWHERE:
        assert f"See {EXAMPLE_ELSEWHERE[name]} for an example" in " ".join(function.__doc__.split())
    else:
        assert sum(result.attempted for result in results) > 0, f"{name} has no example"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_says_what_it_takes_and_returns(name):
    signature, docstring = inspect.signature(FUNCTIONS[name]), FUNCTIONS[name].__doc__
    explained = [line.strip().partition(":")[0] for line in docstring.splitlines()]
    for parameter in signature.parameters:
        assert parameter in explained, f"{name} does not explain {parameter}"
    assert ("Returns" in explained) == (signature.return_annotation != "None")


def without_types(function) -> list[str]:
    """The parameters of a function that have no type, and "return" if what it returns has none."""
    signature = inspect.signature(function)
    parameters = [each for each in signature.parameters.values() if each.name not in ("self", "cls")]
    found = [each.name for each in parameters if each.annotation is each.empty]
    if signature.return_annotation is signature.empty and function.__name__ != "__init__":
        found.append("return")
    return found


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_the_public_interface_has_types(name):
    if name in FUNCTIONS:
        assert without_types(FUNCTIONS[name]) == []
        return
    for attribute, each in vars(CLASSES[name]).items():
        function = each.fget if isinstance(each, property) else getattr(each, "__func__", each)
        if isinstance(function, types.FunctionType) and (attribute == "__init__" or not attribute.startswith("_")):
            assert without_types(function) == [], f"{name}.{attribute}"

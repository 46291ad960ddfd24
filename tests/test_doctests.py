"""The examples in docstrings of public functions are run."""

import doctest
import sys
import types

import pytest

import tmdp_spiel as ts

LAYERS = ("core", "trees", "bounds", "planning", "algorithms", "evaluation")  # where every function has an example
PUBLIC = {name: getattr(ts, name) for name in ts.__all__ if isinstance(getattr(ts, name), types.FunctionType)}


@pytest.mark.parametrize("name", PUBLIC)
def test_the_example_of_a_public_function(name):
    function = PUBLIC[name]
    module = sys.modules[function.__module__]
    examples = doctest.DocTestFinder(recurse=False).find(function, name, module=module)
    runner = doctest.DocTestRunner()
    results = [runner.run(example) for example in examples]
    assert sum(result.failed for result in results) == 0
    if module.__name__.split(".")[1] in LAYERS and name != "load_learner":  # save_learner has it
        assert sum(result.attempted for result in results) > 0, f"{name} has no example"

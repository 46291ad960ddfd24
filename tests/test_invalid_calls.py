"""Every invalid call and command line gets an error that says what would be right."""

import pytest

from reference import invalid_calls


@pytest.mark.slow
@pytest.mark.parametrize("call", invalid_calls.library_calls(), ids=lambda call: call.text)
def test_an_invalid_call_names_what_would_be_right(call):
    kind, error = invalid_calls.answer(call)
    assert kind == "clear", f"{error}; it should say {call.says!r}"


COMMANDS = invalid_calls.command_calls()


@pytest.mark.slow
@pytest.mark.parametrize("call", COMMANDS, ids=range(len(COMMANDS)))
def test_an_invalid_command_line_names_what_would_be_right(call):
    kind, error = invalid_calls.answer(call)
    assert kind == "clear", f"{error}; it should say {call.says!r}"

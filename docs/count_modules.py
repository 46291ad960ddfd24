"""Counts the modules of this project whose Python functions a call runs.

python docs/count_modules.py exact     # ts.exploit("kuhn", "uniform")
python docs/count_modules.py played    # the same with episodes=1000
python docs/count_modules.py bot       # the same against a bot
python docs/count_modules.py experiments.compare --problems=kuhn --episodes=10    # a command and its flags

Prints the modules in the order in which they are first entered, and their number. Imports do not count, and functions
that compiled code calls are not seen. A call of exploit is made twice and counted the second time, because the first
one compiles.
"""

import pathlib
import runpy
import sys
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGES = ("tmdp_spiel", "games", "experiments")


def modules_of(call: Callable[[], object]) -> list[str]:
    """The files whose functions ran, in the order in which they were first entered; importing does not count."""
    entered: dict[str, None] = {}
    importing = 0

    def enter(frame, event, _) -> None:
        nonlocal importing
        code = frame.f_code
        if code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
            importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not importing and code.co_name != "<module>":
            entered.setdefault(code.co_filename)

    sys.setprofile(enter)
    try:
        call()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    inside = [pathlib.Path(each) for each in entered if each.startswith(str(ROOT))]
    return [str(each.relative_to(ROOT)) for each in inside if each.relative_to(ROOT).parts[0] in PACKAGES]


def bot():
    """A bot with nothing but step()."""
    import pyspiel

    class Bot(pyspiel.Bot):
        def __init__(self):
            super().__init__()

        def step(self, state):
            return state.legal_actions()[0]

    return Bot()


def calls() -> dict[str, Callable[[], object]]:
    """The calls of exploit that are counted, by name."""
    import tmdp_spiel as ts

    return {
        "exact": lambda: ts.exploit("kuhn", "uniform"),
        "played": lambda: ts.exploit("kuhn", "uniform", episodes=1000, progress=False),
        "bot": lambda: ts.exploit("kuhn", bot(), episodes=1000, progress=False),
    }


def main() -> None:
    sys.path.insert(0, str(ROOT))
    if not sys.argv[1:] or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return
    call = calls().get(sys.argv[1])
    if call is not None:
        call()
        found = modules_of(call)
    else:
        sys.argv = sys.argv[1:]
        found = modules_of(lambda: runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True))
    print("\n".join(found))
    print(len(found), "modules")


if __name__ == "__main__":
    main()

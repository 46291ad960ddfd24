"""Counts the modules of this project whose Python functions a call runs; kernels inside compiled code are not seen.

python docs/count_modules.py                                   # ts.exploit("kuhn", "uniform", episodes=1000)
python docs/count_modules.py experiments.compare --problems=kuhn --episodes=10 ...    # a command
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


def main() -> None:
    sys.path.insert(0, str(ROOT))
    if sys.argv[1:]:
        sys.argv = sys.argv[1:]
        found = modules_of(lambda: runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True))
    else:
        import tmdp_spiel as ts

        ts.exploit("kuhn", "uniform", episodes=1000)  # compiles, and imports what is imported late
        found = modules_of(lambda: ts.exploit("kuhn", "uniform", episodes=1000))
    print("\n".join(found))
    print(len(found), "modules")


if __name__ == "__main__":
    main()

"""Runs tests/integrations, and writes which libraries passed, with their versions, into docs/agents.md."""

import importlib.metadata
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs" / "agents.md"
REPORT = ROOT / "build" / "integrations.xml"
LIBRARIES = {  # by the names of tests
    "torch": r"pytorch_module|torchscript|cleanrl|five_lines\[torch\]|size_that_does_not_fit",
    "onnxruntime": r"onnx",
    "flax": r"jax_function|five_lines\[flax\]",
    "stable-baselines3": r"saved_model\[(PPO|A2C|DQN)\]|stable.baselines3\]|::test_stable_baselines3",
    "sb3-contrib": r"saved_model\[(MaskablePPO|QRDQN)\]|recurrent|sb3-contrib",
    "shimmy": r"::test_a_saved_model|pettingzoo|merges_information_states",
    "rlcard": r"test_rlcard|five_lines\[rlcard\]",
    "open_spiel": r"test_openspiel_agents|five_lines\[openspiel",
    "tensorboard": r"and_tensorboard\[torch",
    "tensorboardX": r"and_tensorboard\[tensorboardX",
    "ray": r"with_ray",
}


def table(report: pathlib.Path) -> str:
    """Of the results in JUnit's form: each library with its version, and how many tests passed, failed and skipped."""
    cases = ElementTree.parse(report).getroot().findall(".//testcase")
    lines = ["| library | version | passed | failed | skipped |", "| --- | --- | ---: | ---: | ---: |"]
    for library, pattern in LIBRARIES.items():
        own = [case for case in cases if re.search(pattern, f"{case.get('classname')}::{case.get('name')}")]
        failed = sum(case.find("failure") is not None or case.find("error") is not None for case in own)
        skipped = sum(case.find("skipped") is not None for case in own)
        try:
            version = importlib.metadata.version(library).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            version = "not installed"
        lines.append(f"| {library} | {version} | {len(own) - failed - skipped} | {failed} | {skipped} |")
    return "\n".join(lines)


def filled(page: str, made: str) -> str:
    return re.sub(
        r"<!-- integrations -->\n.*?<!-- end -->", f"<!-- integrations -->\n{made}\n<!-- end -->", page, flags=re.DOTALL
    )


if __name__ == "__main__":
    REPORT.parent.mkdir(exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        f"--junitxml={REPORT}",
        str(ROOT / "tests/integrations"),
    ]
    ended = subprocess.run(command, cwd=ROOT, check=False)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), table(REPORT)), encoding="utf-8")
    sys.exit(ended.returncode)

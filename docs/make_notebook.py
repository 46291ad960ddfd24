"""Makes docs/tutorial.ipynb from docs/tutorial.md: runs its code and stores what it prints.

python docs/make_notebook.py
"""

import contextlib
import io
import json
import os
import pathlib
import re
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE, TARGET = HERE / "tutorial.md", HERE / "tutorial.ipynb"


def cells(text: str) -> list[dict]:
    """Python blocks as code, everything between them as text; nothing is run."""
    found: list[dict] = []
    for place, piece in enumerate(re.split(r"```python\n(.*?)```\n?", text, flags=re.DOTALL)):
        piece = piece.strip("\n")
        if piece and place % 2:
            found.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": piece})
        elif piece:
            found.append({"cell_type": "markdown", "metadata": {}, "source": piece})
    return [{"id": f"cell-{place}", **cell} for place, cell in enumerate(found)]


def run(document: list[dict]) -> None:
    """Runs the code cells in one namespace, in a temporary folder, and fills in their outputs."""
    names: dict = {"__name__": "__main__"}
    code = [cell for cell in document if cell["cell_type"] == "code"]
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for count, cell in enumerate(code, 1):
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec(compile(cell["source"], cell["id"], "exec"), names)
                cell["execution_count"] = count
                if printed.getvalue():
                    cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": printed.getvalue()}]
        finally:
            os.chdir(before)


def notebook(document: list[dict]) -> str:
    """The cells as a notebook, in JSON."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": document, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    document = cells(SOURCE.read_text(encoding="utf-8"))
    run(document)
    TARGET.write_text(notebook(document), encoding="utf-8")

"""Makes docs/tutorial.ipynb from docs/tutorial.md: python docs/make_notebook.py."""

import json
import pathlib
import re

HERE = pathlib.Path(__file__).parent
SOURCE, TARGET = HERE / "tutorial.md", HERE / "tutorial.ipynb"


def cells(text: str) -> list[dict]:
    """Python blocks as code, everything between them as text."""
    found: list[dict] = []
    for place, piece in enumerate(re.split(r"```python\n(.*?)```\n?", text, flags=re.S)):
        piece = piece.strip("\n")
        if piece and place % 2:
            found.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": piece})
        elif piece:
            found.append({"cell_type": "markdown", "metadata": {}, "source": piece})
    return [{"id": f"cell-{place}", **cell} for place, cell in enumerate(found)]


def notebook(text: str) -> str:
    """The document as a notebook, in JSON."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {"cells": cells(text), "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(notebook(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")

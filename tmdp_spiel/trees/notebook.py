"""How trees are displayed in a notebook."""

from __future__ import annotations

import html


def facts_of(tree) -> dict[str, str]:
    """Names and values that describe an InfostateTree."""
    return {
        "game": tree.game_string or "",
        "player": str(tree.player),
        "states": f"{tree.num_states:,}",
        "sequences": f"{tree.num_sequences:,}",
        "decisions in an episode": f"{tree.horizon:,} at most",
        "utilities": f"{tree.min_utility:g} to {tree.max_utility:g}",
    }


def table(facts: dict[str, str]) -> str:
    """Names and values in HTML; empty ones are left out."""
    rows = [f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>" for name, value in facts.items() if value]
    return f"<table><tbody>{''.join(rows)}</tbody></table>"

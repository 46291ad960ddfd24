"""For learners that certify: all episodes must come from one environment."""

from __future__ import annotations

from tmdp_spiel.trees.tree_mdp import TreeMDP


class OneOpponent:
    """Remembers whom a learner has played, by fingerprint, and refuses another one."""

    _fed_by: str | None = None

    def check_same_opponent(self, mdp: TreeMDP) -> bool:
        """Whether this is the first environment that the learner meets; an error if it has met another one."""
        first = self._fed_by is None
        if not first and self._fed_by != mdp.fingerprint:
            raise ValueError("this learner was fed by another opponent; what it has learned certifies nothing here")
        self._fed_by = mdp.fingerprint
        return first

"""The orderings that the paper claims, as data."""

from __future__ import annotations

import typing


class StoppingClaim(typing.NamedTuple):
    """On that game, `smaller` stops after fewer episodes than `larger`."""

    claim: str
    game: str
    smaller: str
    larger: str


class CurveClaim(typing.NamedTuple):
    """In each of these panels, `smaller` has the smaller value gap or regret at the end than `larger`."""

    claim: str
    panels: str
    smaller: str
    larger: str


STOPPING_CLAIMS = (
    StoppingClaim("LUCB first on 3 cards", "kuhn", "LUCB", "LUCBT"),
    StoppingClaim("LUCB first on 3 cards", "kuhn", "LUCB", "LUCBTUniform"),
    StoppingClaim("LUCB-T-Uniform ahead of LUCB-T on 3 cards", "kuhn", "LUCBTUniform", "LUCBT"),
    StoppingClaim("the tree variants ahead on 5 cards", "kuhn5", "LUCBT", "LUCB"),
    StoppingClaim("the tree variants ahead on 5 cards", "kuhn5", "LUCBTUniform", "LUCB"),
    StoppingClaim("LUCB-T-Uniform behind LUCB-T on 5 cards", "kuhn5", "LUCBT", "LUCBTUniform"),
)
CURVE_CLAIMS = (
    *(CurveClaim("LUCB-T ahead of the PAC learners", "ab", "LUCBT", other) for other in ("BPIUCRL", "MDPGapE")),
    *(CurveClaim("LUCB-T ahead on RBT", "cd", "LUCBT", other) for other in ("UCT", "OutcomeSamplingMCCFR", "OPF")),
    CurveClaim("UCB-T ahead of all with guarantees", "efgh", "UCBT", "OutcomeSamplingMCCFR"),
    CurveClaim("UCB-T ahead of all with guarantees", "efgh", "UCBT", "OPF"),
    CurveClaim("UCT lower regret on small games", "ef", "UCT", "UCBT"),
    CurveClaim("UCB-T ahead of UCT on large games", "gh", "UCBT", "UCT"),
)
# The ratio of the final measures, larger / smaller, is greater on the second panel than on the first.
LEAD_CLAIMS = tuple(
    CurveClaim("the lead grows with the game", panels, "UCBT", other)
    for panels in ("eg", "fh")
    for other in ("OutcomeSamplingMCCFR", "OPF", "UCT")
)

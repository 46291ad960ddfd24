"""The orderings that the paper claims, as data."""

# smaller, larger: what the paper says stops earlier, or has the smaller value gap or regret at the end.
STOPPING_CLAIMS = (
    {"claim": "LUCB first on 3 cards", "game": "kuhn", "smaller": "LUCB", "larger": "LUCBT"},
    {"claim": "LUCB first on 3 cards", "game": "kuhn", "smaller": "LUCB", "larger": "LUCBTUniform"},
    {
        "claim": "LUCB-T-Uniform ahead of LUCB-T on 3 cards",
        "game": "kuhn",
        "smaller": "LUCBTUniform",
        "larger": "LUCBT",
    },
    {"claim": "the tree variants ahead on 5 cards", "game": "kuhn5", "smaller": "LUCBT", "larger": "LUCB"},
    {"claim": "the tree variants ahead on 5 cards", "game": "kuhn5", "smaller": "LUCBTUniform", "larger": "LUCB"},
    {"claim": "LUCB-T-Uniform behind LUCB-T on 5 cards", "game": "kuhn5", "smaller": "LUCBT", "larger": "LUCBTUniform"},
)
CURVE_CLAIMS = (
    {"claim": "LUCB-T ahead of the PAC learners", "panels": "ab", "smaller": "LUCBT", "larger": "BPIUCRL"},
    {"claim": "LUCB-T ahead of the PAC learners", "panels": "ab", "smaller": "LUCBT", "larger": "MDPGapE"},
    {"claim": "LUCB-T ahead on RBT", "panels": "cd", "smaller": "LUCBT", "larger": "UCT"},
    {"claim": "LUCB-T ahead on RBT", "panels": "cd", "smaller": "LUCBT", "larger": "OutcomeSamplingMCCFR"},
    {"claim": "LUCB-T ahead on RBT", "panels": "cd", "smaller": "LUCBT", "larger": "OPF"},
    {
        "claim": "UCB-T ahead of all with guarantees",
        "panels": "efgh",
        "smaller": "UCBT",
        "larger": "OutcomeSamplingMCCFR",
    },
    {"claim": "UCB-T ahead of all with guarantees", "panels": "efgh", "smaller": "UCBT", "larger": "OPF"},
    {"claim": "UCT lower regret on small games", "panels": "ef", "smaller": "UCT", "larger": "UCBT"},
    {"claim": "UCB-T ahead of UCT on large games", "panels": "gh", "smaller": "UCBT", "larger": "UCT"},
)
# The ratio of the final measures, larger / smaller, is greater on the second panel than on the first.
LEAD_CLAIMS = (
    {"claim": "the lead grows with the game", "panels": "eg", "smaller": "UCBT", "larger": "OutcomeSamplingMCCFR"},
    {"claim": "the lead grows with the game", "panels": "eg", "smaller": "UCBT", "larger": "OPF"},
    {"claim": "the lead grows with the game", "panels": "eg", "smaller": "UCBT", "larger": "UCT"},
    {"claim": "the lead grows with the game", "panels": "fh", "smaller": "UCBT", "larger": "OutcomeSamplingMCCFR"},
    {"claim": "the lead grows with the game", "panels": "fh", "smaller": "UCBT", "larger": "OPF"},
    {"claim": "the lead grows with the game", "panels": "fh", "smaller": "UCBT", "larger": "UCT"},
)

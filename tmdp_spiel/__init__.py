"""Best responses against fixed, unknown opponents in OpenSpiel games, learned with guarantees."""

import pathlib as _pathlib

if not (_pathlib.Path(__file__).parent / "games").is_dir():  # in a checkout, games/ lies beside the package
    __path__.append(str(_pathlib.Path(__file__).parents[1]))

import tmdp_spiel.games  # noqa: F401 (registers them)
from tmdp_spiel.algorithms.amb import AMB
from tmdp_spiel.algorithms.balanced_levels import BalancedLevels
from tmdp_spiel.algorithms.betting_on_differences import BettingOnDifferences
from tmdp_spiel.algorithms.betting_ucrl import BettingUCRL
from tmdp_spiel.algorithms.bpi_ucrl import BPIUCRL
from tmdp_spiel.algorithms.certified_learner import certified_learner
from tmdp_spiel.algorithms.certified_ucrl import CertifiedUCRL
from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.algorithms.lucb import LUCB
from tmdp_spiel.algorithms.lucb_t import LUCBT
from tmdp_spiel.algorithms.lucb_t_uniform import LUCBTUniform
from tmdp_spiel.algorithms.mdp_gape import MDPGapE
from tmdp_spiel.algorithms.mvp import MVP
from tmdp_spiel.algorithms.opf import OPF
from tmdp_spiel.algorithms.outcome_sampling_mccfr import OutcomeSamplingMCCFR
from tmdp_spiel.algorithms.psrl import PSRL
from tmdp_spiel.algorithms.strong_euler import StrongEuler
from tmdp_spiel.algorithms.ucb_t import UCBT
from tmdp_spiel.algorithms.uct import UCT
from tmdp_spiel.running.files import load_learner, save_learner
from tmdp_spiel.running.run import Result, Trace, run, run_until_stopped
from tmdp_spiel.spiel import solvers as open_spiel_solvers
from tmdp_spiel.spiel.build import GameTooLargeError, build_decision_tree, build_tree
from tmdp_spiel.spiel.equilibrium import equilibrium
from tmdp_spiel.spiel.exploit.certify import certify
from tmdp_spiel.spiel.exploit.front_door import exploit
from tmdp_spiel.spiel.fixed_opponent import fixed_opponent_game
from tmdp_spiel.spiel.grow import grow_tree
from tmdp_spiel.spiel.live import EpisodeTooLongError, LiveGame, OpponentError
from tmdp_spiel.spiel.load_game import load_game
from tmdp_spiel.spiel.opponents import uniform
from tmdp_spiel.spiel.policies import plan_to_policy, policy_to_plan
from tmdp_spiel.spiel.policy_files import read_policy, write_policy
from tmdp_spiel.spiel.table import agent
from tmdp_spiel.trees.decision_tree import DecisionTree
from tmdp_spiel.trees.random_tree import random_tree_mdp
from tmdp_spiel.trees.tree_mdp import TreeMDP
from tmdp_spiel.version import __version__

# What we recommend where nothing is known of the game: the class, default_learner(tree, seed=0).
default_learner = BalancedLevels

__all__ = [
    "AMB",
    "BPIUCRL",
    "LUCB",
    "LUCBT",
    "MVP",
    "OPF",
    "PSRL",
    "UCBT",
    "UCT",
    "BalancedLevels",
    "BettingOnDifferences",
    "BettingUCRL",
    "CertifiedUCRL",
    "DecisionTree",
    "EpisodeTooLongError",
    "GameTooLargeError",
    "LUCBTUniform",
    "Learner",
    "LiveGame",
    "MDPGapE",
    "OpponentError",
    "OutcomeSamplingMCCFR",
    "Result",
    "StrongEuler",
    "Trace",
    "TreeMDP",
    "__version__",
    "agent",
    "build_decision_tree",
    "build_tree",
    "certified_learner",
    "certify",
    "default_learner",
    "equilibrium",
    "exploit",
    "fixed_opponent_game",
    "grow_tree",
    "load_game",
    "load_learner",
    "open_spiel_solvers",
    "plan_to_policy",
    "policy_to_plan",
    "random_tree_mdp",
    "read_policy",
    "run",
    "run_until_stopped",
    "save_learner",
    "uniform",
    "write_policy",
]

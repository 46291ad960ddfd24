"""Best responses against fixed, unknown opponents in OpenSpiel games, learned with guarantees."""

import pathlib as _pathlib

if not (_pathlib.Path(__file__).parent / "games").is_dir():  # in a checkout, games/ lies beside the package
    __path__.append(str(_pathlib.Path(__file__).parents[1]))

import tmdp_spiel.games  # noqa: F401 (registers them)
from tmdp_spiel.algorithms.baselines.amb import AMB
from tmdp_spiel.algorithms.baselines.bpi_ucrl import BPIUCRL
from tmdp_spiel.algorithms.baselines.lucb import LUCB
from tmdp_spiel.algorithms.baselines.mdp_gape import MDPGapE
from tmdp_spiel.algorithms.baselines.moca import MOCA
from tmdp_spiel.algorithms.baselines.mvp import MVP
from tmdp_spiel.algorithms.baselines.opf import OPF
from tmdp_spiel.algorithms.baselines.outcome_sampling_mccfr import OutcomeSamplingMCCFR
from tmdp_spiel.algorithms.baselines.psrl import PSRL
from tmdp_spiel.algorithms.baselines.strong_euler import StrongEuler
from tmdp_spiel.algorithms.baselines.uct import UCT
from tmdp_spiel.algorithms.betting_on_differences import BettingOnDifferences
from tmdp_spiel.algorithms.betting_ucrl import BettingUCRL
from tmdp_spiel.algorithms.certified_learner import certified_learner, default_learner
from tmdp_spiel.algorithms.certified_ucrl import CertifiedUCRL
from tmdp_spiel.algorithms.learner import Learner
from tmdp_spiel.algorithms.lucb_t import LUCBT
from tmdp_spiel.algorithms.lucb_t_uniform import LUCBTUniform
from tmdp_spiel.algorithms.thompson_tree import ThompsonTree
from tmdp_spiel.algorithms.ucb_t import UCBT
from tmdp_spiel.core.storage import InUseError
from tmdp_spiel.evaluation.checkpoint import load_learner, save_learner
from tmdp_spiel.evaluation.run import run, run_until_stopped
from tmdp_spiel.evaluation.state_dict import StateMismatchError
from tmdp_spiel.exploit.api import exploit
from tmdp_spiel.exploit.certificates import certify
from tmdp_spiel.exploit.compare import compare
from tmdp_spiel.exploit.responders.response_files import OpponentNeededError
from tmdp_spiel.exploit.response import OpponentNotFixedError
from tmdp_spiel.exploit.result_files import load_result
from tmdp_spiel.exploit.stationarity import OpponentChangesWarning
from tmdp_spiel.exploit.training_curve import training_curve
from tmdp_spiel.exploit.training_monitor import TrainingMonitor
from tmdp_spiel.openspiel import agent
from tmdp_spiel.openspiel.build import CannotEnumerateError, GameTooLargeError, build_infostate_tree, build_tree
from tmdp_spiel.openspiel.equilibrium import equilibrium
from tmdp_spiel.openspiel.fixed_opponent_game import fixed_opponent_game
from tmdp_spiel.openspiel.games import load_game
from tmdp_spiel.openspiel.grow_tree import grow_tree
from tmdp_spiel.openspiel.opponents import adapters
from tmdp_spiel.openspiel.opponents.episode import EpisodeTooLongError
from tmdp_spiel.openspiel.opponents.fixed import NotAPolicyError, OpponentError, uniform
from tmdp_spiel.openspiel.opponents.live_game import LiveGame
from tmdp_spiel.openspiel.policies import plan_to_policy, policy_to_plan
from tmdp_spiel.openspiel.policy_files import read_policy, write_policy
from tmdp_spiel.trees.infostate_tree import InfostateTree
from tmdp_spiel.trees.tree_mdp import TreeMDP
from tmdp_spiel.version import __version__

__all__ = [
    "AMB",
    "BPIUCRL",
    "LUCB",
    "LUCBT",
    "MOCA",
    "MVP",
    "OPF",
    "PSRL",
    "UCBT",
    "UCT",
    "BettingOnDifferences",
    "BettingUCRL",
    "CannotEnumerateError",
    "CertifiedUCRL",
    "EpisodeTooLongError",
    "GameTooLargeError",
    "InUseError",
    "InfostateTree",
    "LUCBTUniform",
    "Learner",
    "LiveGame",
    "MDPGapE",
    "NotAPolicyError",
    "OpponentChangesWarning",
    "OpponentError",
    "OpponentNeededError",
    "OpponentNotFixedError",
    "OutcomeSamplingMCCFR",
    "StateMismatchError",
    "StrongEuler",
    "ThompsonTree",
    "TrainingMonitor",
    "TreeMDP",
    "__version__",
    "adapters",
    "agent",
    "build_infostate_tree",
    "build_tree",
    "certified_learner",
    "certify",
    "compare",
    "default_learner",
    "equilibrium",
    "exploit",
    "fixed_opponent_game",
    "grow_tree",
    "load_game",
    "load_learner",
    "load_result",
    "plan_to_policy",
    "policy_to_plan",
    "read_policy",
    "run",
    "run_until_stopped",
    "save_learner",
    "training_curve",
    "uniform",
    "write_policy",
]

"""Best responses against fixed, unknown opponents in OpenSpiel games, learned with guarantees."""

from tmdp_spiel.build import GameTooLargeError, build_decision_tree, build_tree
from tmdp_spiel.decision_tree import DecisionTree
from tmdp_spiel.equilibrium import equilibrium
from tmdp_spiel.fixed_opponent import fixed_opponent_game
from tmdp_spiel.load_game import load_game
from tmdp_spiel.opponents import uniform
from tmdp_spiel.policies import plan_to_policy, policy_to_plan
from tmdp_spiel.random_tree import random_tree_mdp
from tmdp_spiel.tree_mdp import TreeMDP
from tmdp_spiel.algorithms.amb import AMB
from tmdp_spiel.algorithms.betting_ucrl import BettingUCRL
from tmdp_spiel.algorithms.bpi_ucrl import BPIUCRL
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
from tmdp_spiel.checkpoints import load_learner, save_learner
from tmdp_spiel.runner import Result, Trace, run, run_until_stopped
from tmdp_spiel import agent, open_spiel_solvers

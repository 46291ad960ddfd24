"""The interface of all learners. A learner knows an InfostateTree and the episodes that it played, and nothing else."""

from __future__ import annotations

import abc
import contextlib
import inspect
import types
import typing

import numpy as np

from tmdp_spiel.core import validation
from tmdp_spiel.trees.infostate_tree import PLAN_DTYPE, InfostateTree
from tmdp_spiel.trees.lazy_tree import LazyTree
from tmdp_spiel.trees.traversal import state_of
from tmdp_spiel.trees.tree_mdp import TreeMDP

Kind = typing.TypeVar("Kind", bound="Learner")


class Learner(abc.ABC):
    """Learns a best response in episodes.

        while not learner.stopped:
            ended_on, value = ...  # play learner.plan() for one episode
            learner.learn(ended_on, value)

    plan() does not change until learn() is called. A learner can be pickled at any time and resumes identically.

    The keyword arguments of a learner's constructor, except the seed, are its hyper-parameters. They are recorded when
    it is constructed; flags, stored runs and files use this record.
    """

    grows: typing.ClassVar[bool] = False  # whether it can learn on a lazy tree

    # Names of arrays that grow as it learns; in a file, all others must be of the size that a new learner gives them.
    growing_arrays: typing.ClassVar[tuple[str, ...]] = ()

    _fed_by: str | None = None  # the fingerprint of the environment, of learners that certify

    __signature__: typing.ClassVar[inspect.Signature]
    _hyper_parameters: dict[str, typing.Any]

    def __init_subclass__(cls, **options: typing.Any) -> None:
        super().__init_subclass__(**options)
        own = inspect.signature(cls.__init__)
        cls.__signature__ = own.replace(parameters=list(own.parameters.values())[1:])

    def __new__(cls: type[Kind], *arguments: typing.Any, **keywords: typing.Any) -> Kind:
        learner: Kind = super().__new__(cls)
        with contextlib.suppress(TypeError):  # wrong arguments: __init__ says so, and better; none: it is unpickled
            learner._hyper_parameters = _given_to(cls, arguments, keywords)
        return learner

    def __init__(self, tree: InfostateTree, seed: int):
        if not isinstance(tree, InfostateTree):
            raise TypeError(f"a learner is made from an InfostateTree (mdp.tree), not from a {type(tree).__name__}")
        if isinstance(tree, LazyTree) and not self.grows:
            from tmdp_spiel.algorithms.catalogue import names_of  # it imports this module

            raise TypeError(
                f"{type(self).__name__} plans over the whole tree, so it cannot learn on one that grows; learners that "
                f"can: {names_of(lambda kind: kind.grows)}"
            )
        if tree.num_states == 0 and not isinstance(tree, LazyTree):
            raise ValueError(f"player {tree.player} never decides anything in this game: there is nothing to learn")
        self.tree = tree
        self.seed = validation.seed(seed)
        self.episodes = 0

    @property
    def status(self) -> str:
        """How close it is to stopping, as a short text for a progress bar."""
        return ""

    @abc.abstractmethod
    def plan(self) -> np.ndarray:
        """The policy for the next episode: one action index per state, or one probability per sequence."""

    def learn(self, ended_on: int, value: float) -> None:
        """Updates on an episode of plan().

        ended_on: the sequence on which it ended; tree.root if it ended before the player's first decision.
        value: its return in [0, 1].
        """
        ended_on, value = self._checked(ended_on, value)
        self._update(ended_on, value)
        self.episodes += 1

    @abc.abstractmethod
    def _update(self, ended_on: int, value: float) -> None:
        """Updates on a checked episode."""

    @abc.abstractmethod
    def recommend(self) -> np.ndarray:
        """The policy that the learner considers best."""

    @property
    def hyper_parameters(self) -> dict[str, typing.Any]:
        """The arguments of the constructor by name, except the tree and the seed; including defaults."""
        return dict(self._hyper_parameters)

    @property
    def stopped(self) -> bool:
        """Whether the learner has reached its goal, if it has a stopping rule."""
        return False

    def init_values(self, mdp: TreeMDP) -> typing.Any:
        """The true values of the current policy, which _play updates for measuring; learners never read them."""
        return None

    @abc.abstractmethod
    def _play(self, mdp: TreeMDP, values: typing.Any, rng: np.random.Generator, episodes: int) -> tuple[int, float]:
        """Plays at most that many episodes, compiled: (episodes played, summed values of their policies in [0, 1])."""

    def play(self, mdp: TreeMDP, values: typing.Any, rng: np.random.Generator, episodes: int) -> tuple[int, float]:
        """Plays episodes against the environment, fewer only if the learner stops; for `Evaluator`.

        values: what init_values(mdp) returned, if only this method was called since. Returns the number of episodes
        played, and the sum of the true values of their policies on the [0, 1] scale. The episodes are the same as those
        of plan(), mdp.sample(plan, rng) and learn(), called one by one.
        """
        if not isinstance(mdp, TreeMDP):
            raise TypeError(f"a learner is played against a TreeMDP, as build_tree makes, not a {type(mdp).__name__}")
        if mdp.tree is not self.tree and not mdp.tree.has_the_states_of(self.tree):
            raise ValueError(f"the learner was made for another tree: {self.tree!r}, not {mdp.tree!r}")
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng must be a numpy Generator, as numpy.random.default_rng(seed) makes, not {rng!r}")
        played, total = self._play(mdp, values, rng, validation.whole_number("episodes", episodes))
        self.episodes += played
        return played, total

    def check_same_environment(self, mdp: TreeMDP) -> bool:
        """For learners that certify: whether mdp is the first environment; an error if another one was used."""
        first = self._fed_by is None
        if not first and self._fed_by != mdp.fingerprint:
            raise ValueError("this learner has learned from another opponent, so its certificate would not hold here")
        self._fed_by = mdp.fingerprint
        return first

    def recommended_value(self, mdp: TreeMDP, values: typing.Any) -> float:
        """The exact value of recommend(), in utility units. values: as for play."""
        return mdp.value(self.recommend())

    def copy_from(self, other: Learner) -> None:
        """Takes over the state of another learner of the same kind, and forgets its own."""
        if (type(other), other.seed, other.hyper_parameters) != (type(self), self.seed, self.hyper_parameters):
            raise ValueError(f"{self!r} cannot continue as {other!r}, another kind of learner")
        self.__dict__.update(other.__dict__)

    def __repr__(self) -> str:
        settings = {**self.hyper_parameters, "seed": self.seed}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in settings.items())})"

    def _checked(self, ended_on: int, value: float) -> tuple[int, float]:
        tree = self.tree
        if not (validation.is_number(value) and 0.0 <= value <= 1.0):
            raise ValueError(f"the return of an episode must be rescaled to [0, 1], not {value!r}")
        if not (validation.is_whole(ended_on) and 0 <= ended_on < tree.sequence_end):
            raise ValueError(
                f"an episode ends on a sequence from 1 to {tree.num_sequences}, or on the root, 0, not on {ended_on!r}"
            )
        ended_on, value = int(ended_on), float(value)
        if not tree.can_end[ended_on]:
            raise ValueError(f"no episode can end on sequence {ended_on}")
        plan, sequence = self.plan(), ended_on
        while sequence != tree.root:
            state = state_of(tree.links, sequence)
            index = sequence - tree.first_sequence[state]
            if (plan[state] != index) if plan.dtype == PLAN_DTYPE else (plan[sequence] <= 0):
                raise ValueError(
                    f"the current plan cannot end on sequence {ended_on}: it does not take action index {index} at "
                    f"state {state}"
                )
            sequence = int(tree.parent[state])
        return ended_on, value


# Hyper-parameters: the arguments of a constructor, except the tree and the seed; for flags, stored runs and files.


class HyperParameter(typing.NamedTuple):
    """default: its default value;  types: those it may have besides None, by the annotation or the default."""

    default: typing.Any
    types: tuple[type, ...]


def hyper_parameters_of(algorithm: type) -> dict[str, HyperParameter]:
    """The hyper-parameters of a learner class, in their order."""
    parameters = inspect.signature(algorithm).parameters
    named = {name: each for name, each in parameters.items() if each.kind != each.VAR_KEYWORD}
    try:
        hints = typing.get_type_hints(algorithm.__init__)  # type: ignore[misc]
    except NameError:  # an annotation with names that only a type checker imports
        hints = {}
    return {
        name: HyperParameter(each.default, _types(hints.get(name), each.default))
        for name, each in _without_tree_and_seed(parameters, named).items()
    }


def _given_to(algorithm: type, arguments: tuple, keywords: dict) -> dict[str, typing.Any]:
    """The hyper-parameters of a learner that is constructed with these arguments, including defaults."""
    signature = inspect.signature(algorithm)
    bound = signature.bind(*arguments, **keywords)
    bound.apply_defaults()
    return _without_tree_and_seed(signature.parameters, bound.arguments)


def _without_tree_and_seed(parameters: typing.Any, values: typing.Any) -> dict[str, typing.Any]:
    named: dict[str, typing.Any] = {}
    for name, value in values.items():
        named.update(value if parameters[name].kind == inspect.Parameter.VAR_KEYWORD else {name: value})
    return {name: value for name, value in named.items() if name not in (next(iter(parameters)), "seed")}


def _types(hint: typing.Any, default: typing.Any) -> tuple[type, ...]:
    if hint is None:
        return () if default is None else (type(default),)
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return tuple(each for each in (typing.get_args(hint) if union else (hint,)) if each is not types.NoneType)

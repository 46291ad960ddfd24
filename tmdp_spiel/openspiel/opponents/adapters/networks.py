"""Networks of any library as policies: a function from a batch of tensors to one number for each action.

PyTorch modules, TorchScript and ONNX files, JAX functions and the models of Stable-Baselines3 differ only in how this
function is called. A library is imported only when one of its objects is given.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import pathlib
import sys
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python import policy as policy_lib

from tmdp_spiel.openspiel.games import game_title
from tmdp_spiel.openspiel.opponents.bots import bot_name, first_decision

OUTPUTS = ("logits", "probabilities", "values", "actions")
TENSORS = ("information_state", "observation")
_WORDS = {"information_state": "information states", "observation": "observations"}


@dataclasses.dataclass(eq=False)
class Network:
    """A network of any library, not yet bound to a game.

    Args:
        function: from a float32 array with one row per state (and, with `with_mask`, a boolean array of the legal
            actions) to an array with one number for each state and action of the game. With "actions" it gets one state
            at a time, without the batch axis, and returns an action.
        outputs: the meaning of the numbers. "logits": the policy is the softmax over the legal actions.
            "probabilities": they must be 0 for illegal actions. "values": the policy plays the legal action with the
            largest value, the first of equal ones. "actions": the function returns an action and is a black box.
        tensor: "information_state", "observation", or None for the one that it accepts; information states are tried
            first.
        with_mask: whether it is called with the masks of legal actions as its second argument.
        input_shape: the shape of its input, without the batch axis; None if not known.
        one_by_one: whether it accepts only batches of one state.
        first_layer: the inputs of the first linear layer, for error messages; None if not known.
    """

    function: Callable
    outputs: str = "logits"
    tensor: str | None = None
    with_mask: bool = False
    input_shape: tuple[int, ...] | None = None
    one_by_one: bool = False
    name: str = ""
    first_layer: int | None = None

    def __post_init__(self):
        self.name = self.name or bot_name(self.function)
        for what, given, known in (("outputs", self.outputs, OUTPUTS), ("tensor", self.tensor, (*TENSORS, None))):
            if given not in known:
                raise ValueError(f"{what} must be one of {', '.join(map(repr, known))}, not {given!r}")
        if not callable(self.function):
            raise TypeError(f"a network is a function of a batch of tensors, not a {type(self.function).__name__}")

    def __call__(self, *inputs: np.ndarray) -> np.ndarray:
        """One row of float64 for each row of the inputs."""
        if self.one_by_one and len(inputs[0]) != 1:
            return np.concatenate([self(*(each[i : i + 1] for each in inputs)) for i in range(len(inputs[0]))])
        return as_array(self.function(*inputs))


def as_array(answer) -> np.ndarray:
    """A network's answer as float64; the first one if there are several, such as an actor's and a critic's."""
    if isinstance(answer, (tuple, list)) and len(answer) and getattr(answer[0], "ndim", 0) == 2:
        answer = answer[0]
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu().double().numpy()
    return np.ascontiguousarray(answer, np.float64)


# What users have -----------------------------------------------------------------------------------------------------


def is_torch_module(source) -> bool:
    """Whether it is a torch.nn.Module; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(source, torch.nn.Module)


def is_network(source) -> bool:
    """Whether it is a Network, or an object of a known library that becomes one."""
    return isinstance(source, Network) or is_sb3_model(source) or _is_flax(source) or is_torch_module(source)


def is_network_file(path: str) -> bool:
    """Whether it is a file of ONNX, or of TorchScript (which, unlike other .pt files, is not a pickle)."""
    if path.endswith(".onnx"):
        return True
    if pathlib.Path(path).suffix not in (".pt", ".pth", ".ts") or not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any("/code/" in name for name in archive.namelist())


def as_network(source) -> Network:
    """The Network of an object for which is_network holds, or of the path of such a file."""
    if isinstance(source, Network):
        return source
    if isinstance(source, (str, pathlib.Path)):
        return _onnx_network(str(source)) if str(source).endswith(".onnx") else _torchscript_network(str(source))
    if is_sb3_model(source):
        return _sb3_network(source)
    return Network(source) if _is_flax(source) else torch_network(source)


def torch_network(module, outputs: str = "logits") -> Network:
    """A torch.nn.Module, without gradients and in evaluation mode; CleanRL's agents by their actor."""
    torch = sys.modules["torch"]
    forward = module
    if getattr(type(module), "forward", None) is torch.nn.Module.forward:
        actor = getattr(module, "actor", None)
        if actor is None:
            raise TypeError(
                f"{bot_name(module)} is a torch.nn.Module without forward() and without an actor; give "
                "ts.adapters.Network(function) with a function from a batch of tensors to logits"
            )
        trunk = getattr(module, "network", None)  # of CleanRL's agents that share layers
        forward = actor if trunk is None else lambda tensors: actor(trunk(tensors))

    def function(tensors, *masks):
        sample = next(module.parameters(), torch.zeros(1))
        with evaluating(module):
            return forward(torch.from_numpy(tensors).to(dtype=sample.dtype, device=sample.device))

    first = next(iter(module), None) if isinstance(module, torch.nn.Sequential) else module
    size = first.in_features if isinstance(first, torch.nn.Linear) else None
    linear = next((each.in_features for each in module.modules() if isinstance(each, torch.nn.Linear)), None)
    shape = None if size is None else (size,)
    return Network(function, outputs, input_shape=shape, name=bot_name(module), first_layer=linear)


@contextlib.contextmanager
def evaluating(module):
    """Within the block, disables gradients, dropout and the like; restores the mode afterwards."""
    training = [each for each in module.modules() if each.training]
    module.eval()
    try:
        with sys.modules["torch"].no_grad():
            yield
    finally:
        for each in training:
            each.training = True


def _torchscript_network(path: str) -> Network:
    torch = _imported("torch", path)
    network = torch_network(torch.jit.load(path, map_location="cpu"))
    return dataclasses.replace(network, name=pathlib.Path(path).name)


def _onnx_network(path: str) -> Network:
    runtime = _imported("onnxruntime", path)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = session.get_inputs()
    if len(inputs) > 2:
        raise ValueError(f"{path} has {len(inputs)} inputs, {[each.name for each in inputs]}; it needs one "
                         "for tensors, and may have another for the mask of legal actions")  # fmt: skip
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(bool)": np.bool_}
    types = [kinds.get(each.type, np.float32) for each in inputs]
    batch, *shape = inputs[0].shape

    def function(*arrays):
        given = {each.name: array.astype(kind) for each, array, kind in zip(inputs, arrays, types)}
        return session.run(None, given)[0]

    known = all(isinstance(size, int) for size in shape)
    return Network(
        function,
        with_mask=len(inputs) == 2,
        input_shape=tuple(shape) if known else None,
        one_by_one=batch == 1,
        name=pathlib.Path(path).name,
    )


def _is_flax(source) -> bool:
    nnx = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(source, nnx.Module) and callable(source)


def is_sb3_model(source) -> bool:
    """Whether it is a model of Stable-Baselines3; the library is not imported to find out."""
    base = sys.modules.get("stable_baselines3.common.base_class")
    return base is not None and isinstance(source, base.BaseAlgorithm)


def _sb3_network(model) -> Network:
    """A model of Stable-Baselines3 or sb3-contrib: the distribution of its actor, or the best of its values."""
    policy, name = model.policy, bot_name(model)
    actions = getattr(model.action_space, "n", None)
    shape = getattr(model.observation_space, "shape", None)
    if actions is None or shape is None:
        raise ValueError(
            f"{name} has the spaces {model.observation_space} and {model.action_space}; only a Box of observations and "
            "Discrete actions are supported. For others, give ts.adapters.Network(function)"
        )
    if hasattr(policy, "lstm_actor"):
        raise ValueError(f"{name} is recurrent: it remembers an episode, so give a bot with restart() and step(state)")
    if hasattr(policy, "get_distribution"):
        ask, outputs = lambda given: policy.get_distribution(given).distribution.logits, "logits"
    elif hasattr(policy, "q_net"):
        ask, outputs = lambda given: policy.q_net(given), "values"
    elif hasattr(policy, "quantile_net"):
        ask, outputs = lambda given: policy.quantile_net(given).mean(1), "values"
    else:
        raise ValueError(f"{name} has neither a distribution nor values of actions; give a bot or a function")

    def function(tensors):
        with evaluating(policy):
            return ask(policy.obs_to_tensor(tensors)[0])

    return Network(function, outputs, input_shape=tuple(shape), name=name)


def _imported(library: str, path: str):
    import importlib

    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise ValueError(f"{path} is read with {library}, which is missing ({error}): pip install {library}") from None


# Playing a game ------------------------------------------------------------------------------------------------------


def tensor_shapes(game: pyspiel.Game) -> dict[str, tuple[int, ...]]:
    """The shapes of the tensors that a game provides, by TENSORS."""
    kind, shapes = game.get_type(), {}
    if kind.provides_information_state_tensor:
        shapes["information_state"] = tuple(game.information_state_tensor_shape())
    if kind.provides_observation_tensor:
        shapes["observation"] = tuple(game.observation_tensor_shape())
    return shapes


def described_shapes(game: pyspiel.Game) -> str:
    """The tensors of a game in words."""
    parts = []
    for tensor, shape in tensor_shapes(game).items():
        axes = f" (shape {' x '.join(map(str, shape))})" if len(shape) > 1 else ""
        parts.append(f"{_WORDS[tensor]} of size {math.prod(shape)}{axes}")
    return f"{game_title(game)} has {' and '.join(parts)}; was it trained on another game?"


class _Encoder:
    """The tensors of a game that a network accepts, found by trying them at a state of the player."""

    def __init__(self, game: pyspiel.Game, network: Network, player: int):
        self.network, self._player, self._actions = network, player, game.num_distinct_actions()
        self.tensor = TENSORS[0]
        self._shape: tuple[int, ...] = ()
        shapes = tensor_shapes(game)
        if network.tensor is not None:
            shapes = {tensor: shape for tensor, shape in shapes.items() if tensor == network.tensor}
        if not shapes:
            kind = network.tensor or "tensor"
            raise ValueError(f"{game_title(game)} provides no {kind}s, which the network {network.name} needs")
        state = first_decision(game, player)
        if state is None:
            return
        if network.input_shape is not None:
            sizes = {tensor: shape for tensor, shape in shapes.items()
                     if math.prod(shape) == math.prod(network.input_shape)}  # fmt: skip
            if not sizes:
                takes = " x ".join(map(str, network.input_shape))
                raise ValueError(
                    f"the network {network.name} takes inputs of size {takes}, but {described_shapes(game)}"
                )
            shapes = dict.fromkeys(sizes, network.input_shape)
        failures: list[str] = []
        for tensor, shape in shapes.items():
            for self._shape in dict.fromkeys([network.input_shape or (math.prod(shape),), shape]):
                self.tensor = tensor
                try:
                    answer = self.ask(state)
                except (RuntimeError, TypeError, ValueError, IndexError, AttributeError, KeyError) as error:
                    failures.append(str(error).partition("\n")[0])
                    continue
                if network.outputs != "actions":
                    self._check(game, answer)
                return
        size = network.first_layer
        takes = "" if size is None else f" (its first linear layer has {size} inputs)"
        raise ValueError(
            f"the network {network.name}{takes} accepts none of the available inputs: {described_shapes(game)} "
            "Its error: " + "; ".join(dict.fromkeys(failures))
        )

    def _check(self, game: pyspiel.Game, answer: np.ndarray) -> None:
        if answer.size != self._actions:
            raise ValueError(
                f"the network {self.network.name} returns {answer.size} numbers at a state, given its "
                f"{_WORDS[self.tensor].removesuffix('s')} of size {math.prod(self._shape)}; {game_title(game)} has "
                f"{self._actions} actions, and a network must return one number for each. {described_shapes(game)}"
            )

    def batch(self, tensors: np.ndarray, *masks: np.ndarray) -> np.ndarray:
        """The network's answers to a batch of flat tensors."""
        return self.network(tensors.reshape(len(tensors), *self._shape), *masks)

    def ask(self, state: pyspiel.State):
        """The network's answer at a state."""
        observes = self.tensor == "observation"
        tensor = state.observation_tensor(self._player) if observes else state.information_state_tensor(self._player)
        inputs = [np.array(tensor, np.float32).reshape(1, *self._shape)]
        if self.network.with_mask:
            inputs.append(np.array([state.legal_actions_mask(self._player)], np.bool_))
        if self.network.outputs == "actions":
            return self.network.function(*(each[0] for each in inputs))
        return self.network(*inputs).reshape(-1)


class NetworkPolicy(policy_lib.Policy):
    """A network as the policy that it plays in a game.

    If several information states have the same observation tensor, the network plays the same at all of them. This is
    still a policy of the game.

    Args:
        game: the game.
        source: what is_network accepts.
        player: whose policy.
    """

    def __init__(self, game: pyspiel.Game, source, player: int):
        super().__init__(game, [player])
        self.network = as_network(source)
        self.__name__, self._player = self.network.name, player
        self._encoder = _Encoder(game, self.network, player)

    @property
    def observes(self) -> bool:
        """Whether it is given observations, not information states."""
        return self._encoder.tensor == "observation"

    def batch(self, tensors: np.ndarray, *masks: np.ndarray) -> np.ndarray:
        """What the network answers to a batch of flat tensors, one row for each."""
        return self._encoder.batch(tensors, *masks)

    def action_probabilities(self, state, player_id=None):
        answer, legal = self._encoder.ask(state), state.legal_actions(self._player)
        if self.network.outputs == "probabilities":
            return {action: float(p) for action, p in enumerate(answer) if p or action in legal}
        numbers = answer[legal]
        if np.isnan(numbers).any() or not np.isfinite(numbers.max()):
            raise ValueError(f"the network {self.__name__} returned {answer.tolist()}; its {self.network.outputs} of "
                             f"the legal actions {legal} are not finite")  # fmt: skip
        if self.network.outputs == "values":
            best = int(np.argmax(numbers))
            return {action: float(i == best) for i, action in enumerate(legal)}
        weights = np.exp(numbers - numbers.max())
        return dict(zip(legal, (weights / weights.sum()).tolist()))


class NetworkBot:
    """A function from a tensor (and a mask) to an action, as a bot."""

    def __init__(self, game: pyspiel.Game, network: Network, player: int):
        self.__name__, self._encoder = network.name, _Encoder(game, network, player)

    def step(self, state: pyspiel.State) -> Any:
        action = self._encoder.ask(state)
        return int(action) if np.ndim(action) == 0 or np.size(action) == 1 else action

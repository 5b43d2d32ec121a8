"""Takes the place of a trained stable-baselines3 model in a built agent: its ``predict``, without that package.

The network is the model's own, from the observation to a number for each column: logits of a policy, or values.
"""

import io
from typing import Any

import numpy as np

from connectx_core.steps import Layers

MASKED = -1e8  # the logit of a column that a mask rules out, as sb3-contrib has it


class Predictor:
    """A model whose ``predict`` gives what that of the algorithm gives.

    Args:
        network: bytes of a container with "steps" (``connectx_core.steps.Layers``), or of TorchScript.
        settings: shape: that of an observation. is_script: whether the network is TorchScript. is_image: whether
            observations may come with the channels last. draws: whether moves are drawn from the logits unless
            ``deterministic``. exploration: else the share of moves that are random then.
    """

    def __init__(self, network: np.ndarray, settings: dict[str, Any]):
        self._settings, self._shape = settings, tuple(settings["shape"])
        if settings["is_script"]:
            import torch

            torch.set_num_threads(1)
            script = torch.jit.load(io.BytesIO(network.tobytes()), map_location="cpu")
            self._network = lambda batch: script(torch.from_numpy(batch.astype(np.float32))).detach().numpy()
        else:
            self._network = Layers.from_bytes(network.tobytes())

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        action_masks: Any = None,
    ) -> tuple[np.ndarray, Any]:
        """(columns, state) for an observation of the model's shape, or for several, (n, *shape).

        Drawn moves come from numpy's generator: they have the model's probabilities, not its draws.

        Raises:
            ValueError: an observation of another shape.
        """
        seen = np.asarray(observation)
        if self._settings["is_image"] and seen.shape[-3:] != self._shape:
            seen = np.moveaxis(seen, -1, -3)
        if seen.shape[-len(self._shape) :] != self._shape or seen.ndim > len(self._shape) + 1:
            raise ValueError(f"expected an observation of shape {self._shape}, not {np.shape(observation)}")
        scores = np.asarray(self._network(seen.reshape(-1, *self._shape)))
        if action_masks is not None:
            scores = np.where(np.asarray(action_masks, bool).reshape(scores.shape), scores, MASKED)
        columns = scores.argmax(axis=1)
        if not deterministic:
            columns = self._draw_columns(scores, columns)
        return (columns if seen.ndim > len(self._shape) else columns.squeeze(axis=0)), state

    def _draw_columns(self, scores: np.ndarray, best: np.ndarray) -> np.ndarray:
        if not self._settings["draws"]:
            if np.random.rand() < self._settings["exploration"]:
                return np.random.randint(scores.shape[1], size=len(scores))
            return best
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        reached = (chances / chances.sum(axis=1, keepdims=True)).cumsum(axis=1)
        return (reached < np.random.random((len(scores), 1))).sum(axis=1).clip(max=scores.shape[1] - 1)

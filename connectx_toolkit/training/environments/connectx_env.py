"""ConnectX for gymnasium: one game, or thousands side by side. Importing the package registers both.

    gymnasium.make("ConnectX-v0", opponent="negamax", seat="first")
    gymnasium.make_vec("ConnectX-vec", num_envs=1000, opponent="minimax@2~10", observation="lines-1")

An action is a column, the options are those of training.environments.vector_env. Infos hold ``action_mask``, (columns,)
int8, and at the end of a game ``ending``: won, lost, drawn or illegal. ``action_masks()`` gives the legal columns, as
sb3-contrib's MaskablePPO asks for them, and ``set_policy`` what the opponent "self" plays.

A board can be looked at as text, as a picture, and as a game in Kaggle's player.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from connectx_core.position import Geometry
from connectx_toolkit.kaggle.rules import sizes_of
from connectx_toolkit.training.environments.vector_env import ENDINGS, Duels, Policy, Setting, check_among

__all__ = ["ConnectXEnv", "ConnectXVectorEnv"]

RENDER_MODES = ("ansi", "rgb_array", "html")
CELL = 48  # pixels
BLUE, WHITE = (9, 83, 164), (236, 240, 245)  # the frame, and an empty cell
DISCS = {0: WHITE, 1: (224, 164, 0), -1: (200, 40, 45)}


def board_text(stones: np.ndarray) -> str:
    """X for the first player's stones, O for the second's. stones: (rows, columns) int8, as a batch has them."""
    return "\n".join("".join(".XO"[stone] for stone in row) for row in stones)


def board_picture(stones: np.ndarray) -> np.ndarray:
    """(rows * CELL, columns * CELL, 3) uint8: discs in a frame."""
    middle = np.arange(CELL) - (CELL - 1) / 2
    disc = np.hypot(middle[:, None], middle) < 0.42 * CELL
    colours = np.array([DISCS[stone] for stone in (0, 1, -1)], np.uint8)[stones]
    cells = np.where(disc[None, :, None, :, None], colours[:, None, :, None], np.array(BLUE, np.uint8))
    return cells.reshape(stones.shape[0] * CELL, stones.shape[1] * CELL, 3)


def kaggle_page(moves: Sequence[int], geometry: Geometry) -> str:
    """A page with Kaggle's player of the game that ``moves``, columns from the first ply on, make."""
    from kaggle_environments import make  # takes seconds, so not at the top

    environment = make("connectx", configuration=sizes_of(geometry))
    environment.reset()
    for ply, column in enumerate(moves):
        environment.step([column, None] if ply % 2 == 0 else [None, column])
    return environment.render(mode="html")


def render_board(mode: str | None, stones: np.ndarray, moves: Sequence[int], geometry: Geometry) -> Any:
    """The board by the name that gymnasium gives to the form."""
    if mode == "html":
        return kaggle_page(moves, geometry)
    return None if mode is None else board_text(stones) if mode == "ansi" else board_picture(stones)


class ConnectXEnv(gymnasium.Env):
    """One game at a time.

    >>> env = ConnectXEnv(opponent="random", seat="first")
    >>> observation, info = env.reset(seed=1)
    >>> observation.shape, info["action_mask"].tolist()
    ((1, 6, 7), [1, 1, 1, 1, 1, 1, 1])
    >>> observation, reward, is_over, _, info = env.step(3)
    >>> round(reward, 4), is_over  # 1/42 for a move
    (0.0238, False)

    Args:
        render_mode: "ansi" for text, "rgb_array" for a picture, "html" for Kaggle's player of the game.
        options: those of Setting.

    Raises:
        ValueError, OSError: as Setting does.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012 - gymnasium's own form

    def __init__(self, *, render_mode: str | None = None, **options: Any):
        check_among("render_mode", render_mode, (None, *RENDER_MODES))
        self.render_mode, self.setting = render_mode, Setting(**options)
        self.observation_space = self.setting.seen.space
        self.action_space = spaces.Discrete(self.setting.columns)
        self._duels = Duels(self.setting, 1, self.np_random)
        self._moves: list[int] = np.flatnonzero(self._heights()).tolist()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """A new game; where seats alternate, in the other seat than the last one, and with a seed in the first."""
        super().reset(seed=seed)
        if seed is None:
            self._duels.restart(np.arange(1))
        else:
            self._duels = Duels(self.setting, 1, self.np_random)
        self._moves = np.flatnonzero(self._heights()).tolist()
        return self._duels.observe()[0], self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Plays a column and the reply to it."""
        before = self._heights()
        rewards, (ending,) = self._duels.step(np.array([action]))
        if ending != ENDINGS.index("illegal"):
            added = self._heights() - before
            added[action] -= 1
            self._moves += [int(action), *np.flatnonzero(added).tolist()]
        info = self._info() | ({"ending": ENDINGS[ending]} if ending >= 0 else {})
        return self._duels.observe()[0], float(rewards[0]), bool(ending >= 0), False, info

    def action_masks(self) -> np.ndarray:
        """(columns,) bool: the legal columns; none after the end."""
        return self._duels.games.legal()[0]

    def set_policy(self, policy: Policy | None) -> None:
        """What the opponent "self" plays from its next move on."""
        self.setting.policy = policy

    def render(self) -> Any:
        """The board in the form of ``render_mode``: str, or (height, width, 3) uint8; None without one."""
        return render_board(self.render_mode, self._duels.games.stones[0], self._moves, self.setting.geometry)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks().astype(np.int8)}

    def _heights(self) -> np.ndarray:
        return np.count_nonzero(self._duels.games.stones[0], axis=0)


class ConnectXVectorEnv(gymnasium.vector.VectorEnv):
    """n games at a time, in numpy. A game that ends starts again at once (gymnasium's AutoresetMode.SAME_STEP).

    >>> env = ConnectXVectorEnv(100, opponent="random", observation="lines-1")
    >>> observations, infos = env.reset(seed=1)
    >>> observations.shape[0], infos["action_mask"].shape
    (100, (100, 7))
    >>> observations, rewards, over, _, infos = env.step(np.full(100, 3))
    >>> rewards.shape, rewards.dtype.name
    ((100,), 'float32')

    Infos hold arrays of n: ``action_mask``, (n, columns) int8; when games have ended, ``ending``, (n,) int8, an index
    into ENDINGS, and ``final_obs``, (n, *shape). As in all of gymnasium's, an array with "_" before its name,
    (n,) bool, says for which games each is true.

    Args:
        num_envs: n.
        options: those of Setting.

    Raises:
        ValueError, OSError: as Setting does.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": ["ansi", "rgb_array"]}  # noqa: RUF012

    def __init__(self, num_envs: int = 1000, *, render_mode: str | None = None, **options: Any):
        check_among("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self.num_envs, self.render_mode, self.setting = num_envs, render_mode, Setting(**options)
        self.single_observation_space = self.setting.seen.space
        self.single_action_space = spaces.Discrete(self.setting.columns)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._duels = Duels(self.setting, num_envs, self.np_random)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        """New games. Where seats alternate, the first has the first seat, its neighbour the second."""
        super().reset(seed=seed)
        self._duels = Duels(self.setting, self.num_envs, self.np_random)
        return self._duels.observe(), self._masks()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        """Plays a column in each game, (n,) integers, and the replies; rewards are (n,) float32."""
        rewards, endings = self._duels.step(np.asarray(actions))
        over, infos = endings >= 0, dict[str, Any]()
        if over.any():
            infos = {"ending": endings, "_ending": over, "final_obs": self._duels.observe(), "_final_obs": over}
            self._duels.restart(np.flatnonzero(over))
        infos |= self._masks()
        return self._duels.observe(), rewards, over, np.zeros(self.num_envs, bool), infos

    def action_masks(self) -> np.ndarray:
        """(n, columns) bool: the legal columns."""
        return self._duels.games.legal()

    def set_policy(self, policy: Policy | None) -> None:
        """What the opponent "self" plays from its next move on."""
        self.setting.policy = policy

    def _masks(self) -> dict[str, np.ndarray]:
        return {"action_mask": self.action_masks().astype(np.int8), "_action_mask": np.ones(self.num_envs, bool)}

    def render(self) -> Any:
        """One form for each game: str, or (height, width, 3) uint8; None without a render mode."""
        if self.render_mode is None:
            return None
        boards = self._duels.games.stones
        return tuple(render_board(self.render_mode, board, [], self.setting.geometry) for board in boards)

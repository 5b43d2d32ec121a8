"""ConnectX for PettingZoo: both sides are agents that move in turns.

    env = aec.env(observation="sides")

Agents are player_0, who begins, and player_1. What they see is a dict: ``observation``, as
training.environments.vector_env has it of the side that looks, and ``action_mask``, (columns,) int8, all zeros for
the side that is not to move. Rewards are 1 and -1, and 0 for a draw. An illegal column ends the game, with -1 for the
side that chose it and 0 for the other.
"""

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper

from connectx_core.position import geometry_of
from connectx_toolkit.training.environments.connectx_env import RENDER_MODES, render_board
from connectx_toolkit.training.environments.vector_env import check_among, check_columns, observation_named
from connectx_toolkit.training.vector_games import FIRST, SECOND, ConnectX

__all__ = ["env"]

SIDE_OF_AGENT = {"player_0": FIRST, "player_1": SECOND}


def env(**options: Any) -> AECEnv:
    """The environment with PettingZoo's checks around it: calls in the wrong order are reported.

    >>> game = env()
    >>> game.reset(seed=1)
    >>> game.agent_selection, game.observe("player_0")["action_mask"].tolist()
    ('player_0', [1, 1, 1, 1, 1, 1, 1])
    """
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TwoSides(**options)))


class TwoSides(AECEnv):
    """One game.

    Args:
        observation: "course", "sides" or an encoding, of connectx_toolkit.training.environments.vector_env.
        render_mode: "ansi" for text, "rgb_array" for a picture, "html" for Kaggle's player of the game.

    Raises:
        ValueError: a name is unknown, the board is none, or does not fit the observation.
    """

    metadata = {  # noqa: RUF012 - PettingZoo's own form
        "name": "connectx_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        observation: str = "sides",
        rows: int = 6,
        columns: int = 7,
        inarow: int = 4,
        render_mode: str | None = None,
    ):
        super().__init__()
        check_among("render_mode", render_mode, (None, *RENDER_MODES))
        self.render_mode, self.possible_agents = render_mode, list(SIDE_OF_AGENT)
        self._geometry = geometry_of(rows, columns, inarow)
        self._seen = observation_named(observation, self._geometry)
        mask = spaces.Box(0, 1, (columns,), np.int8)
        both = spaces.Dict({"observation": self._seen.space, "action_mask": mask})
        self.observation_spaces = dict.fromkeys(SIDE_OF_AGENT, both)
        self.action_spaces = dict.fromkeys(SIDE_OF_AGENT, spaces.Discrete(columns))

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict | None = None) -> None:
        """A new game. Nothing in it is random."""
        self._games, self._moves = ConnectX(1, self._geometry), list[int]()
        self.agents, self.agent_selection = list(SIDE_OF_AGENT), "player_0"
        self.rewards = dict.fromkeys(SIDE_OF_AGENT, 0.0)
        self._cumulative_rewards = dict.fromkeys(SIDE_OF_AGENT, 0.0)
        self.terminations, self.truncations = dict.fromkeys(SIDE_OF_AGENT, False), dict.fromkeys(SIDE_OF_AGENT, False)
        self.infos: dict[str, dict] = {agent: {} for agent in SIDE_OF_AGENT}

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        seat = SIDE_OF_AGENT[agent]
        is_turn = self._games.mover[0] == seat
        mask = self._games.legal()[0] & is_turn
        seen = self._seen.of(self._games.stones, np.array([seat], np.int8))[0]
        return {"observation": seen, "action_mask": mask.astype(np.int8)}

    def step(self, action: int | None) -> None:
        """Plays a column for ``agent_selection``; None once the game is over, as PettingZoo has it."""
        agent = self.agent_selection
        if action is None or self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        check_columns(np.asarray(action), self._geometry)
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        other = next(each for each in SIDE_OF_AGENT if each != agent)
        if self._games.legal()[0, action]:
            self._games.play(np.array([action]))
            self._moves.append(int(action))
            if self._games.winner[0]:
                self.rewards = {agent: 1.0, other: -1.0}
        else:
            self._games.forfeit(np.zeros(1, np.int64))
            self.rewards, self.infos[agent] = {agent: -1.0, other: 0.0}, {"ending": "illegal"}
        over = bool(self._games.done[0])
        self.terminations = dict.fromkeys(SIDE_OF_AGENT, over)
        self.agent_selection = other
        self._accumulate_rewards()

    def render(self) -> Any:
        """The board in the form of ``render_mode``: str, or (height, width, 3) uint8; None without one."""
        return render_board(self.render_mode, self._games.stones[0], self._moves, self._geometry)

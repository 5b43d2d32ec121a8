"""Kaggle's rules for a game: its configuration and limits, and the faults that end it. Imports little."""

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

from connectx_core.position import Geometry, geometry_of

# Kaggle's default configuration (connectx.json and schemas.json of kaggle-environments).
DEFAULTS: dict[str, Any] = {
    "rows": 6,
    "columns": 7,
    "inarow": 4,
    "actTimeout": 2,
    "agentTimeout": 60,
    "timeout": 2,
    "episodeSteps": 1000,
    "runTimeout": 1200,
}
NODE_BUDGET = "nodeBudget"  # our addition, see connectx_core.clock.budget_for
MOST_CELLS = 4096
MOST_IN_ROW = 64  # looking for lines takes time by its square, whether or not the board has room for one
MOST_SECONDS = 1e9  # 32 years; a socket's timeout can be at most 292
OVERAGE = 60.0  # seconds: Kaggle's remainingOverageTime at the start


class Limits(NamedTuple):
    """What Kaggle allows a submission. Size and memory are those of like competitions: ConnectX publishes none."""

    act_timeout: float = float(DEFAULTS["actTimeout"])  # seconds a move
    overage: float = OVERAGE  # seconds of overage time a game
    size: int = 100 << 20  # bytes
    memory: int = 6 << 30  # bytes

    @property
    def first_move(self) -> float:
        """Seconds that the first move may take, and with it the load: no clock allows more."""
        return self.act_timeout + self.overage


# Kinds of fault and Kaggle's status for each. The first five come from players, the next six from the referee;
# the last two are all that Kaggle's replays tell.
STATUS_OF = {
    "exception": "ERROR",
    "load": "ERROR",  # raised while the agent was loaded
    "exit": "ERROR",  # SystemExit, KeyboardInterrupt: would end Kaggle's runner
    "crash": "ERROR",  # the process died
    "hang": "TIMEOUT",  # killed; Kaggle would wait for ever
    "timeout": "TIMEOUT",  # answered, but the overage time was used up
    "float": "ERROR",  # 3.0 passes Kaggle's schema, then its evaluate raises
    "not an integer": "INVALID",
    "no such column": "INVALID",
    "full column": "INVALID",
    "none": "INVALID",  # None is played as column 0; if that is open, the fault is only counted
    "error": "ERROR",
    "illegal move": "INVALID",
}
FAMILIES = {"ERROR": "error", "INVALID": "illegal move", "TIMEOUT": "timeout"}  # of kinds of fault, by Kaggle's status


def sizes_of(geometry: Geometry) -> dict[str, int]:
    """A board's sizes as a configuration has them."""
    return {"rows": geometry.rows, "columns": geometry.columns, "inarow": geometry.inarow}


@dataclass(frozen=True)
class Rules:
    """A configuration in Kaggle's form, completed with Kaggle's defaults, and the overage time in seconds.

    Raises ValueError: Kaggle would refuse a size or a limit, the board is unreasonably large, or a name is unknown
    (Kaggle ignores unknown names, but they are probably misspelt).
    """

    config: dict[str, Any] = field(default_factory=dict)
    overage: float = OVERAGE

    def __post_init__(self) -> None:
        if unknown := sorted(self.config.keys() - {*DEFAULTS, NODE_BUDGET}):
            close = get_close_matches(unknown[0], DEFAULTS, 1)
            meant = f"did you mean {close[0]}? N" if close else "n"
            raise ValueError(f"unknown configuration {', '.join(unknown)}: {meant}ames are {', '.join(DEFAULTS)}")
        object.__setattr__(self, "config", {**DEFAULTS, **self.config})
        for name in ("rows", "columns", "inarow", "episodeSteps", NODE_BUDGET):
            size = self.config.get(name, 1)
            if type(size) is not int or size < 1:
                raise ValueError(f"{name} should be an integer of at least 1, not {size!r}")
        if (cells := self.config["rows"] * self.config["columns"]) > MOST_CELLS:
            raise ValueError(f"rows times columns should be at most {MOST_CELLS}, not {cells}")
        if self.config["inarow"] > MOST_IN_ROW:
            raise ValueError(f"inarow should be at most {MOST_IN_ROW}, not {self.config['inarow']}")
        limits = {name: self.config[name] for name in ("actTimeout", "agentTimeout", "timeout", "runTimeout")}
        for name, limit in (*limits.items(), ("overage", self.overage)):
            if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 <= limit <= MOST_SECONDS:
                raise ValueError(f"{name} should be a number of seconds from 0 to {MOST_SECONDS:g}, not {limit!r}")
        if self.config["timeout"] % 1:  # Kaggle's schema requires an integer here
            raise ValueError(f"timeout should be a whole number of seconds, not {self.config['timeout']!r}")

    @property
    def geometry(self) -> Geometry:
        return geometry_of(self.config["rows"], self.config["columns"], self.config["inarow"])


class Fault(NamedTuple):
    """One thing that an agent did wrong."""

    seat: int  # 0 moves first
    ply: int
    kind: str  # a key of STATUS_OF
    detail: str
    fatal: bool  # whether it ended the game

    @property
    def family(self) -> str:
        """ "error", "illegal move" or "timeout"."""
        return FAMILIES[STATUS_OF[self.kind]]

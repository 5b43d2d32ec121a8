"""The Python side of a board: it answers the board's messages and keeps the agents that play at it.

It knows neither page nor notebook: whoever carries the messages (docs/reference/board-messages.md) gives a function to
send them with. The page holds the game, so that a session begins anew at any time, and nothing is lost with it.

A position is there as in the board's messages: the size of the board, and its cells as Kaggle lists them.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from connectx_core.position import Geometry, Position
from connectx_toolkit.board.thinking import Analyst, BoardSeat, Found, MoveQuestion
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.exam_positions import read_positions
from connectx_toolkit.games.forms import is_columns
from connectx_toolkit.games.game import UNKNOWN_NAMES, Game
from connectx_toolkit.games.reader import find_one_game, parse_game, read_only_game
from connectx_toolkit.kaggle.rules import OVERAGE, Rules, sizes_of
from connectx_toolkit.players.spec import AgentSpec, catalogue_entry, kaggle_agents, resolve, told_apart
from connectx_toolkit.report.catalogue import read_ladder
from connectx_toolkit.system.console import as_option, in_a_line
from connectx_toolkit.system.files import our_agents
from connectx_toolkit.system.foreign import integer, mapping, printable, text

SIZES = ("rows", "columns", "inarow")


def geometry_in(entry: Any) -> Geometry:
    """The geometry of a message with rows, columns and inarow.

    Raises ValueError: there are none, or no board is of that size.
    """
    try:
        return Rules({name: entry[name] for name in SIZES}).geometry
    except (TypeError, KeyError):
        raise ValueError(f"expected {', '.join(SIZES)}, got {entry!r:.200}") from None


def position_in(entry: Any) -> Position:
    """The position of a message. Its cells are a string of 0, 1 and 2, row by row from the top.

    Raises ValueError: it is none that a game could go on from.
    """
    geometry = geometry_in(entry)
    cells = entry.get("cells")
    if not isinstance(cells, str) or len(cells) != geometry.cells or set(cells) - set("012"):
        raise ValueError(f"cells should be {geometry.cells} of the characters 0, 1, 2, not {cells!r:.200}")
    if cells.count("1") - cells.count("2") not in (0, 1):
        raise ValueError("the side that moves first should have as many stones as the other, or one more")
    for column in range(geometry.columns):
        if "0" in cells[column :: geometry.columns].lstrip("0"):
            raise ValueError(f"column {column} has a stone above an empty cell")
    ply = geometry.cells - cells.count("0")
    position = Position.from_observation({"board": [*map(int, cells)], "mark": 1 + ply % 2}, sizes_of(geometry))
    if position.is_over() or position.pass_turn().is_lost():
        raise ValueError("the game is over in this position")
    return position


def position_entry(position: Position) -> dict[str, Any]:
    """What ``position_in`` reads."""
    return {**sizes_of(position.geometry), "cells": "".join(map(str, position.to_board()))}


PARTNERS = ("minimax@1", "minimax@2", "minimax@4", "minimax@8", "perfect~20")
BUILT_IN = "built-in, strongest first"
APART = ("explore", "read")  # messages that may take long and change nothing here: they keep no other waiting
NEWEST = ("explore", "solve")  # messages of which one that waits is void as soon as another comes
MOST_REQUESTED = 5000  # of one request: a game on the largest board has 4096
NAMED_PLAYERS = 5  # players of a move
LONGEST_PROBLEM = 1000  # characters
Message = dict[str, Any]


class Opening(NamedTuple):
    """How a board begins."""

    rules: Rules = Rules()
    seats: tuple[AgentSpec | None, AgentSpec | None] = (None, None)  # None is a person
    game: Game | None = None
    games: Path | None = None  # the file of games that tells what was played in a position
    puzzles: tuple[Position, ...] = ()  # to practise


def opening_of(
    agents: Sequence[Any], rules: Rules, game: Any = None, games: Path | None = None, *,
    second: bool = False, practise: Path | None = None, from_one: bool = False,
) -> Opening:  # fmt: skip
    """How a board begins, by the arguments of ``api.board``, or of ``Board``, where None is a person.

    Raises ValueError: an unknown agent, a game that cannot be played, no file of games, or a bad one of positions.
    """
    if len(agents) > 2:
        raise ValueError(f"a board has two sides, not {len(agents)}")
    if second and not agents:
        raise ValueError(f"{as_option('second')} is for a board with an agent")
    if from_one and not (game or practise):
        both = f"{as_option('game')} and {as_option('practise')}"
        raise ValueError(f"{as_option('from-one')} is for {both}: it says how their columns are counted")
    named = iter(told_apart(resolve(agent) for agent in agents if agent is not None))
    specs = [None if agent is None else next(named) for agent in agents]
    first, other = [None, *specs] if len(specs) == 1 else (specs or [None, None])
    shown = None if game is None else find_one_game(game, rules.geometry, from_one)
    puzzles = read_positions(practise, from_one)[0] if practise else []
    if games:
        with GameDatabase(games, create=False):  # or it is refused
            pass
    return Opening(rules, (other, first) if second else (first, other), shown, games, tuple(puzzles))


def choices() -> list[Message]:
    """The agents that can be chosen by name, with what is known of them."""
    _, ladder = read_ladder()
    ours = [(BUILT_IN, name, catalogue_entry(name).summary) for name in our_agents()]
    partners = [("easier to beat", name, "") for name in PARTNERS]
    kaggles = [("Kaggle's agents", name, "") for name in sorted(kaggle_agents())]
    return [
        {"name": name, "group": group, "about": about, "elo": round(ladder[name]) if name in ladder else None}
        for group, name, about in [*ours, *partners, *kaggles]
    ]


def _game_message(game: Game) -> Message:
    """A game as the board takes it: of players that nobody named, it names those that sit at it."""
    return game.entry | ({"names": None} if game.names == UNKNOWN_NAMES else {})


class Session:
    """One open board.

    Args:
        send: takes a message to the board; is called from threads of the session, and must not block.
        analyst: solves for all boards of this process.
    """

    def __init__(self, send: Callable[[Message], None], analyst: Analyst, opening: Opening):
        self._send = send
        self._analyst = analyst
        self._opening = opening
        self._specs = {spec.label: spec for spec in opening.seats if spec is not None}
        self._seats: dict[int, BoardSeat] = {}
        self._lanes = ThreadPoolExecutor(1), ThreadPoolExecutor(1)  # the second for those apart
        self._newest = dict[str, Message]()
        self._answers: dict[str, Callable[[Message], None]] = {
            "hello": self._hello,
            "solve": self._solve,
            "ask": self._ask,
            "drop": self._drop,
            "check": self._check,
            "read": self._read_game,
            "explore": self._explore,
        }

    def receive(self, message: Any) -> None:
        """Takes a message of the board. One that cannot be understood is answered by a "problem".

        Messages are answered in their order, but for those that may take long.
        """
        kind = message.get("type") if isinstance(message, dict) else None
        if kind in NEWEST:
            self._newest[kind] = message
        with suppress(RuntimeError):  # the board is closed
            self._lanes[kind in APART].submit(self._answer_message, message)

    def _answer_message(self, message: Any) -> None:
        about: Message = {}
        try:
            if not isinstance(message, dict) or message.get("type") not in list(self._answers):
                raise ValueError(f"unknown message: {message!r:.200}")
            if self._newest.get(message["type"], message) is not message:
                return
            about = {"about": message["type"], "id": number if type(number := message.get("id")) is int else None}
            self._answers[message["type"]](message)
        except Exception as problem:  # whatever it is, the board and its agents go on
            words = f"missing {problem}" if isinstance(problem, KeyError) else in_a_line(problem)
            self._send({"type": "problem", **about, "text": printable(words, LONGEST_PROBLEM)})

    def close(self) -> None:
        """Ends the agents, after what waits: that may bring one more."""
        with suppress(RuntimeError):  # it is closed
            self._lanes[0].submit(self._end_agents)
        for lane in self._lanes:
            lane.shutdown(wait=False, cancel_futures=lane is self._lanes[1])

    def _end_agents(self) -> None:
        self._analyst.forget(self)
        for seat in self._seats.values():
            seat.close()

    def _hello(self, message: Message) -> None:
        rules, game = self._opening.rules, self._opening.game
        self._analyst.prepare(rules.geometry)
        config = {name: rules.config[name] for name in ("rows", "columns", "inarow", "actTimeout")}
        self._send({
            "type": "welcome",
            "agents": choices(),
            "config": {**config, "overage": rules.overage},
            "seats": [None if spec is None else spec.label for spec in self._opening.seats],
            "game": None if game is None else _game_message(game),
            "games": self._opening.games is not None,
            "puzzles": [position_entry(position) for position in self._opening.puzzles],
        })  # fmt: skip

    def _solve(self, message: Message) -> None:
        positions = [position_in(entry) for entry in message["positions"][:MOST_REQUESTED]]
        self._analyst.want(self, positions, self._tell_values)

    def _tell_values(self, position: Position, found: Found) -> None:
        values = [None if value is None else list(value) for value in found.values] if found.values else None
        entry = {"type": "values", "position": position_entry(position), "values": values, "done": found.done}
        self._send({**entry, "why": found.why} if found.why else entry)

    def _ask(self, message: Message) -> None:
        number, game = integer(message["id"], "id"), integer(message["game"], "game")
        name, seat = text(message["agent"], "agent"), integer(message["seat"], "seat", 0, 1)
        position, config = position_in(message["position"]), mapping(message.get("config") or {}, "config")
        sizes = sizes_of(position.geometry)
        ours = self._opening.rules.config
        act_timeout = config.get("actTimeout", ours["actTimeout"])
        rules = Rules({**ours, **sizes, "actTimeout": act_timeout}, config.get("overage", OVERAGE))
        left = replace(rules, overage=message["overage"]).overage
        spec = self._spec(name)
        sitting = self._seats.get(seat)
        if sitting is not None and sitting.spec != spec:
            sitting.close()
            sitting = None
        if sitting is None:
            sitting = self._seats[seat] = BoardSeat(spec, self._send)
        sitting.ask(MoveQuestion(number, game, position, rules, left))

    def _explore(self, message: Message) -> None:
        position, games = position_in(message["position"]), self._opening.games
        if games is None:
            raise ValueError("this board was started without a file of games")
        with GameDatabase(games, create=False) as database:
            played = database.at(position)
        moves = [{**one._asdict(), "players": one.players[:NAMED_PLAYERS]} for one in played]
        self._send({"type": "played", "position": position_entry(position), "moves": moves})

    def _spec(self, name: str) -> AgentSpec:
        return self._specs.get(name) or resolve(name)

    def _drop(self, message: Message) -> None:
        for seat in self._seats.values():
            seat.drop()

    def _check(self, message: Message) -> None:
        name, seat = text(message["agent"], "agent"), integer(message["seat"], "seat", 0, 1)
        self._send({"type": "checked", "agent": name, "label": self._spec(name).label, "seat": seat})

    def _read_game(self, message: Message) -> None:
        """A game as text: the columns of a game, or the content of a replay file."""
        content, first = str(message["text"]).strip(), integer(message.get("first", 0), "first", 0, 1)
        is_typed = not message.get("name") and not content.startswith(("{", "[", "<", '"'))
        if is_typed or is_columns(content):
            game = parse_game(content, geometry_in(message), from_one=first == 1 or None)
        else:
            place = Path(Path(str(message.get("name") or "the text")).name)
            game = read_only_game(content, place, first == 1 and "{" not in content)  # replays have counts of their own
        self._send({"type": "game", "game": _game_message(game)})

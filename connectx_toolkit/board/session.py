"""The other end of a board: reads its messages, answers them, and keeps the agents that sit at it.

It knows neither page nor notebook: whoever carries the messages (docs/reference/board-messages.md) gives a function to
send them with. The page holds the game, so that a session begins anew at any time, and nothing is lost with it.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from connectx.position import Position
from connectx_toolkit.arena.games.database import GameDatabase
from connectx_toolkit.arena.players.loading import kaggle_agents, our_agents, resolve
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.replays.replay import parse_replay
from connectx_toolkit.arena.reporting.ladder import read_ladder
from connectx_toolkit.arena.results.records import UNKNOWN_NAMES, Game, parse_game
from connectx_toolkit.board.analyst import Analyst, Found
from connectx_toolkit.board.positions import entry_of as position_entry
from connectx_toolkit.board.positions import geometry_in, position_in
from connectx_toolkit.board.seat import Question, Seat
from connectx_toolkit.catalogue import entry_of
from connectx_toolkit.console.parser import in_a_line
from connectx_toolkit.foreign import integer, mapping, shown, text
from connectx_toolkit.kaggle.rules import BANK, Rules, sizes_of

PARTNERS = ("minimax@1", "minimax@2", "minimax@4", "minimax@8", "perfect~20")
OURS = "built-in, strongest first"
MOST_POSITIONS = 5000  # of one request: a game on the largest board has 4096
MOST_NAMED = 5  # players of a move
LONGEST_PROBLEM = 1000  # characters
Message = dict[str, Any]


class Opening(NamedTuple):
    """How a board begins."""

    rules: Rules = Rules()
    seats: tuple[AgentSpec | None, AgentSpec | None] = (None, None)  # None is a person
    game: Game | None = None
    games: Path | None = None  # the file of games that tells what was played in a position


def choices() -> list[Message]:
    """The agents that can be chosen by name, with what is known of them."""
    ladder = read_ladder()
    ours = [(OURS, name, entry_of(name).summary) for name in our_agents()]
    partners = [("easier to beat", name, "") for name in PARTNERS]
    kaggles = [("Kaggle's agents", name, "") for name in sorted(kaggle_agents())]
    return [
        {"name": name, "group": group, "about": about, "elo": round(ladder[name].elo) if name in ladder else None}
        for group, name, about in [*ours, *partners, *kaggles]
    ]


def game_entry(game: Game) -> Message:
    """A game as the board takes it."""
    entry: Message = {
        **sizes_of(game.geometry),
        "names": None if game.names == UNKNOWN_NAMES else list(game.names),
        "moves": list(game.moves),
    }
    if game.fault is not None:
        entry["forfeit"] = {"seat": game.fault.seat, "text": game.fault.kind}
    return entry


def check_games(path: Path) -> Path:
    """The path of a file of games. Raises ValueError if there is none, or if it is another file."""
    with GameDatabase(path, create=False):
        return path


class Session:
    """One open board.

    Args:
        send: takes a message to the board; is called from several threads, and must not block.
        analyst: solves for all boards of this process.
    """

    def __init__(self, send: Callable[[Message], None], analyst: Analyst, opening: Opening):
        self._send = send
        self._analyst = analyst
        self._opening = opening
        self._specs = {spec.label: spec for spec in opening.seats if spec is not None}
        self._seats: dict[int, Seat] = {}
        self._answers: dict[str, Callable[[Message], None]] = {
            "hello": self._hello,
            "solve": self._solve,
            "ask": self._ask,
            "drop": self._drop,
            "check": self._check,
            "read": self._read,
            "explore": self._explore,
        }

    def receive(self, message: Any) -> None:
        """Takes a message of the board; returns at once. What cannot be understood is answered by a "problem"."""
        about: Message = {}
        try:
            if not isinstance(message, dict) or message.get("type") not in list(self._answers):
                raise ValueError(f"unknown message: {message!r:.200}")
            about = {"about": message["type"], "id": number if type(number := message.get("id")) is int else None}
            self._answers[message["type"]](message)
        except Exception as problem:  # whatever it is, the board and its agents go on
            words = f"missing {problem}" if isinstance(problem, KeyError) else in_a_line(problem)
            self._send({"type": "problem", **about, "text": shown(words, LONGEST_PROBLEM)})

    def close(self) -> None:
        """Ends the agents."""
        self._analyst.forget(self)
        for seat in self._seats.values():
            seat.close()
        self._seats.clear()

    def _hello(self, message: Message) -> None:
        rules, game = self._opening.rules, self._opening.game
        self._analyst.prepare(rules.geometry)
        config = {name: rules.config[name] for name in ("rows", "columns", "inarow", "actTimeout")}
        self._send({
            "type": "welcome",
            "agents": choices(),
            "config": {**config, "bank": rules.bank},
            "seats": [None if spec is None else spec.label for spec in self._opening.seats],
            "game": None if game is None else game_entry(game),
            "games": self._opening.games is not None,
        })  # fmt: skip

    def _solve(self, message: Message) -> None:
        positions = [position_in(entry) for entry in message["positions"][:MOST_POSITIONS]]
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
        act_timeout = config.get("actTimeout", self._opening.rules.config["actTimeout"])
        rules = Rules({**self._opening.rules.config, **sizes, "actTimeout": act_timeout}, config.get("bank", BANK))
        left = replace(rules, bank=message["bank"]).bank
        spec = self._spec(name)
        sitting = self._seats.get(seat)
        if sitting is not None and sitting.spec != spec:
            sitting.close()
            sitting = None
        if sitting is None:
            sitting = self._seats[seat] = Seat(spec, self._send)
        sitting.ask(Question(number, game, position, rules, left))

    def _explore(self, message: Message) -> None:
        position, games = position_in(message["position"]), self._opening.games
        if games is None:
            raise ValueError("this board was started without a file of games (--games)")
        with GameDatabase(games, create=False) as database:
            played = database.at(position)
        moves = [{**one._asdict(), "players": one.players[:MOST_NAMED]} for one in played]
        self._send({"type": "played", "position": position_entry(position), "moves": moves})

    def _spec(self, name: str) -> AgentSpec:
        return self._specs.get(name) or resolve(name)

    def _drop(self, message: Message) -> None:
        for seat in self._seats.values():
            seat.drop()

    def _check(self, message: Message) -> None:
        name, seat = text(message["agent"], "agent"), integer(message["seat"], "seat", 0, 1)
        self._send({"type": "checked", "agent": name, "label": self._spec(name).label, "seat": seat})

    def _read(self, message: Message) -> None:
        """A game as text: the columns of a game, or the content of a replay file."""
        content = str(message["text"]).strip()
        if content.startswith("{"):
            name = Path(str(message.get("name") or "replay.json")).name
            game = parse_replay(content, Path(name))
        else:
            game = parse_game("".join(content.split()), geometry_in(message))
        self._send({"type": "game", "game": game_entry(game)})

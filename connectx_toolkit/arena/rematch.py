"""An agent asked for the positions of old lost games: which of the old mistakes it still makes, and which new ones."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from connectx.position import Geometry, Position, write_columns
from connectx_toolkit.arena.referee import illegal_kind
from connectx_toolkit.arena.start_positions import read_openings
from connectx_toolkit.games.analysis import JudgedMove
from connectx_toolkit.games.review import Review
from connectx_toolkit.kaggle.rules import Rules
from connectx_toolkit.players.process import Player
from connectx_toolkit.system.files import locked, write_whole

HEAD = "# Positions in which results were given away; python evaluate.py match AGENT1 AGENT2 --openings THIS_FILE"


class Answer(NamedTuple):
    """What an agent plays in a position in which a result was to be kept."""

    review: Review
    old: JudgedMove  # what was played in the game
    column: int | None  # None where it failed
    fault: str = ""  # how

    @property
    def keeps(self) -> bool:
        """Whether the agent keeps the result."""
        return self.column is not None and self.old._replace(column=self.column).kept_result


def games_to_ask(reviews: Sequence[Review], with_won: bool = False) -> list[Review]:
    """The games that were not won, or all of them, in which there was something to keep."""
    scores = (0.0, 0.5, 1.0) if with_won else (0.0, 0.5)
    return [review for review in reviews if review.score in scores and any(move.holds for move in review.own)]


def positions_to_ask(review: Review) -> list[JudgedMove]:
    """One's own moves of a game in positions in which there was a result to keep."""
    return [move for move in review.own if move.holds]


def ask(player: Player, review: Review, rules: Rules, seed: int) -> Iterator[Answer]:
    """The agent's answers along one old game, in order, with overage time that falls as in a game.

    Raises:
        ProcessFailed: the agent's process does not start.
    """
    game, overage, act_timeout = review.game, rules.overage, rules.config["actTimeout"]
    player.begin(rules.config, seed)
    for old in positions_to_ask(review):
        position = Position.from_moves(game.moves[: old.ply], game.geometry)
        reply = player.ask(old.ply, 1 + old.ply % 2, overage, bytes(position.to_board()), act_timeout)
        overage -= max(0.0, reply.seconds - act_timeout)
        fault = reply.fault or ("timeout" if overage < 0 else _illegal(reply.action, position))
        yield Answer(review, old, None if fault else int(reply.action or 0), fault or "")
        if fault:
            return


def _illegal(action: Any, position: Position) -> str | None:
    legal = position.legal_columns()
    return illegal_kind(action, position.geometry.columns, lambda column: column in legal)


def add_mistakes(path: Path, reviews: Sequence[Review]) -> tuple[int, int]:
    """Adds the positions in which one's own moves gave a result away to a file of openings.

    Positions that the file holds, mirrored or not, are not added again; neither is the empty board.

    Returns:
        How many were added, and how many the file holds now.

    Raises:
        ValueError: the file holds something else, or games of another board.
    """
    geometry = reviews[0].game.geometry
    with locked(path):
        return _add_to(path, reviews, geometry)


def _add_to(path: Path, reviews: Sequence[Review], geometry: Geometry) -> tuple[int, int]:
    known = read_openings(path, geometry) if path.exists() else []
    keys = {Position.from_moves(opening, geometry).canonical().key for opening in known}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else [HEAD]
    added = 0
    for review in reviews:
        for move in review.mistakes:
            opening = review.game.moves[: move.ply]
            key = Position.from_moves(opening, geometry).canonical().key
            if opening and key not in keys:
                keys.add(key)
                added += 1
                lines.append(f"{write_columns(opening)}  # {review.game.name}: {move.words()}")
    if added:
        write_whole(path, ("\n".join(lines) + "\n").encode())
    return added, len(keys)

"""Whose games they are: as the user says, or the one name that is in all of them."""

import difflib
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from connectx_toolkit.games.game import UNKNOWN_NAMES, Game
from connectx_toolkit.system.console import as_option

VERSION_SUFFIX = re.compile(" [0-9a-f]{6}$")  # of a file that exists in several: ``groups.groups`` adds it


def team_of(games: Sequence[Game], wanted: str | None = None) -> str:
    """Whose games these are: the player that was asked for, or else the one name that is in all of them.

    Raises:
        ValueError: there is no such name, or more than one; in words that say how to choose.
    """
    counts = Counter(name for game in games for name in set(game.names))
    return find_player(counts, wanted) if wanted is not None else player_of_all(counts, len(games))


def find_player(counts: Mapping[str, int], wanted: str, asked: str = "") -> str:
    """The player that was asked for. An agent's file may be called without its folder, and without folder and suffix.

    Args:
        counts: games by name.
        asked: what it was asked with; by default the option ``me``.

    Raises ValueError: no player, or more than one, is called so; in words that say how to choose.
    """
    paths = {name: Path(VERSION_SUFFIX.sub("", name)) for name in counts}  # of any version of a file
    called = [name for name, path in paths.items() if str(Path(wanted)) in (str(path), path.name, path.stem)]
    called = [wanted] if wanted in counts else called
    if len(called) == 1:
        return called[0]
    close = called or difflib.get_close_matches(wanted, counts, 1)
    meant = f"did you mean {' or '.join(map(shlex.quote, close))}? " if close else ""
    problem = f"fits {len(called)} names" if called else "is in none of the games"
    raise ValueError(f"{asked or as_option('me')} {wanted!r} {problem}: {meant}Names and games: {_most(counts)}")


def player_of_all(counts: Mapping[str, int], games: int) -> str:
    """The one name that is in all of the games. Raises ValueError if there is none, or more than one."""
    everywhere = [name for name, count in counts.items() if count == games]
    if len(everywhere) == 1:
        return everywhere[0]
    if set(everywhere) == set(UNKNOWN_NAMES):
        seats = f"{as_option('me', 'first')} or {as_option('me', 'second')}"
        raise ValueError(f"the games do not name their players: pass {seats}, whichever seat is yours")
    what = "more than one name is" if everywhere else "no name is"
    which = f"all {games} games" if games > 1 else "the game"
    raise ValueError(f"{what} in {which}: pass {as_option('me', 'NAME')}. Names and games: {_most(counts)}")


def _most(counts: Mapping[str, int]) -> str:
    """ "my_team (20), them (3), ...": those in most games."""
    return ", ".join(f"{name} ({count})" for name, count in Counter(counts).most_common(5))


def seat_of(game: Game, team: str) -> int:
    """The seat of a team. In a game against itself: that which failed, or else the first."""
    if game.is_self_play:
        return game.fault.seat if game.fault else 0
    return game.names.index(team)

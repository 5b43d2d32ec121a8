"""The ladder at Kaggle's clock, from the games of a tournament: by agent and seat, and each agent against each.

python evaluate.py tournament perfect value_search minimax policy minimax@4 n_step negamax ppo --pairs 10
python -m benchmarks.ladder runs/arena.sqlite balanced --pairs 10

With ``--openings empty`` the tournament begins every game with the empty board; of a store that holds both, the second
argument says whose games are counted.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from benchmarks.machine import head, record
from connectx_toolkit.games.database import GameDatabase
from connectx_toolkit.games.match import Match
from connectx_toolkit.games.tournament import Tournament, groups

STARTS = ("balanced", "empty")
ANCHOR = "ppo"


def chosen(tournament: Tournament, start: str, pairs: int) -> Tournament:
    """The first ``pairs`` pairs of each match whose games begin from this start."""
    kept = []
    for match, names in zip(tournament.matches, tournament.names, strict=True):
        games = {number: game for number, game in match.games.items() if number < 2 * pairs}
        if all((game.opening == 0) == (start == "empty") for game in games.values()):
            kept.append((Match(match.first, match.second, games), names))
    return Tournament([match for match, _ in kept], [names for _, names in kept])


def by_seat(tournament: Tournament) -> dict[str, dict[str, list[list[int]]]]:
    """[won, drawn, lost] of each agent against each, moving first and moving second."""
    table: dict[str, dict[str, list[list[int]]]] = {}
    for match, names in zip(tournament.matches, tournament.names, strict=True):
        for agent in (0, 1):
            tallies = [list(match.side(agent, seat).tally) for seat in (0, 1)]
            table.setdefault(names[agent], {})[names[1 - agent]] = tallies
    return table


def standings(tournament: Tournament) -> dict[str, dict[str, Any]]:
    """Elo with its interval, and shares of the points, by agent, best first."""
    return {
        line.name: line.rating._asdict() | {"points": line.score, "first": line.as_first, "second": line.as_second}
        for line in tournament.ladder(ANCHOR)
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path, help="the tournament's store")
    parser.add_argument("start", choices=STARTS, help="how its games began")
    parser.add_argument("--pairs", type=int, default=10, help="pairs counted of each match (default %(default)s)")
    options = parser.parse_args()
    head(pairs=options.pairs)
    with GameDatabase(options.store, create=False) as store:
        (group,) = groups(store)
    tournament = chosen(group.tournament, options.start, options.pairs)
    agents = standings(tournament)
    games, forfeits = (
        sum(map(len, (match.games for match in tournament.matches))),
        sum(match.side(agent).forfeits for match in tournament.matches for agent in (0, 1)),
    )
    words = " ".join(dict.fromkeys(name for names in tournament.names for name in names))
    opening = " --openings empty" * (options.start == "empty")
    record(
        f"ladder-{options.start}",
        next(iter(agents)),
        f"leads {len(agents)} agents at Kaggle's clock",
        command=f"python evaluate.py tournament {words} --pairs {options.pairs}{opening}",
        agents=agents,
        games=games,
        pairs=options.pairs,
        forfeits=forfeits,
        by_seat=by_seat(tournament),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

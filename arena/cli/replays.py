"""The commands of evaluate.py that look at replays of Kaggle's: analyse, and rematch."""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from rich.console import Console

from arena.cli.review import records_of, show_games
from arena.game.openings import read_openings
from arena.game.rules import Rules
from arena.players.loading import resolve
from arena.players.process import Player
from arena.replays.record import Replay, read_replay, read_replays, replay_paths
from arena.replays.rematch import Answer, add_mistakes, ask, lost_games, positions_to_ask
from arena.replays.review import Review, seat_of, team_of
from arena.replays.summary import headline, summary
from arena.reporting.replay_tables import answers_table, answers_words, reviews_table, section_table
from arena.reporting.replays_page import replays_page
from arena.results.exact_analysis import JudgedMove, first_judged, judge_in_time, solvers_for
from arena.runs.open import OwnSlot
from arena.runs.slot import Setup, Slot
from connectx.geometry import Geometry
from console.files import check_folder, write_whole
from console.progress import progress
from console.tables import console_for_tables


def analyse(options: argparse.Namespace) -> None:
    """One game move by move, or all of one's replays."""
    what = options.what
    in_bulk = options.me is not None or options.html or options.json
    if len(what) == 1 and not in_bulk and _is_one_game(what[0]):
        if what[0].endswith(".json"):
            _show_replay(read_replay(Path(what[0])), options)
            return
        geometry = Rules(options.config or {}).geometry
        show_games(records_of(what[0], geometry, options.opening, options.games), options.from_ply, options.time)
        return
    check_folder(options.html)
    replays, left_out = read_replays(replay_paths(what))
    show_reviews(replays, left_out, options)


def _show_replay(replay: Replay, options: argparse.Namespace) -> None:
    """One game, every move; and what the clocks showed."""
    show_games([replay.record], options.from_ply, options.time)
    for seat in (0, 1):
        slowest = replay.slowest(seat)
        words = f", slowest move {slowest[1]:.1f} s on ply {slowest[0]}" if slowest else ""
        used = f"{replay.overage_used(seat):.1f} s of {replay.banks[seat]:g} s overage time used"
        _say(console_for_tables(), [f"{replay.record.player(seat)}: {used}{words}"])


def _is_one_game(what: str) -> bool:
    """Columns, one replay or a store; everything else stands for several replays."""
    return not Path(what).is_dir() and (Path(what).exists() or not set("*?[") & set(what))


def show_reviews(replays: Sequence[Replay], left_out: Sequence[str], options: argparse.Namespace) -> None:
    """Judges replays from one's own seat; prints the rows and the summary, as JSON if asked; writes the page."""
    team = team_of(replays, options.me)
    others = [replay for replay in replays if team not in replay.record.names]
    notes = [*left_out, *(f"{replay.path}: {team} is not in it" for replay in others)]
    reviews = judged_reviews(replays, team, options)
    lines, sections = [*headline(team, reviews), *_not_judged(reviews, options)], summary(reviews)
    if options.html:
        write_whole(options.html, replays_page(team, reviews, lines, sections).encode())
    if options.json:
        tables = {one.title: [dict(zip(one.heads, row, strict=True)) for row in one.rows] for one in sections}
        games = [review.row() for review in reviews]
        print(json.dumps({"me": team, "games": games, "summary": tables, "left_out": notes}, indent=2))
        return
    console = console_for_tables()
    console.print(reviews_table(team, reviews))
    for section in sections:
        console.print(section_table(section))
    _say(console, [*lines, *_notes(notes), *([f"page: {options.html}"] if options.html else [])])


def _notes(notes: Sequence[str]) -> list[str]:
    return [f"left out: {notes[0]}" + (f" (and {len(notes) - 1} more)" if len(notes) > 1 else "")] if notes else []


def _say(console: Console, lines: Sequence[str]) -> None:
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def judged_reviews(replays: Sequence[Replay], team: str, options: argparse.Namespace) -> list[Review]:
    """The games of a team, judged."""
    reviews = []
    own = [replay for replay in replays if team in replay.record.names]
    with progress(len(own), "game", "judging", delay=0) as bar:
        for replay in own:
            reviews.append(Review(replay, seat_of(replay, team), _judged(replay, options)))
            bar.update()
    return reviews


def _judged(replay: Replay, options: argparse.Namespace) -> list[JudgedMove]:
    """The moves of a game that could be judged in time; none where the solver cannot hold the board."""
    geometry = replay.record.geometry
    try:
        solvers_for(geometry)
    except ValueError:
        return []
    return judge_in_time(replay.record, _start(replay, options), options.time)


def _start(replay: Replay, options: argparse.Namespace) -> int:
    return first_judged(replay.record.geometry) if options.from_ply is None else options.from_ply


def _not_judged(reviews: Sequence[Review], options: argparse.Namespace) -> list[str]:
    """How many moves could not be judged, if any."""
    missing = [len(one.replay.record.moves[_start(one.replay, options) :]) - len(one.judged) for one in reviews]
    games = sum(map(bool, missing))
    if not games:
        return []
    why = "--time SECONDS gives them more; boards of more than 64 bits cannot be solved"
    return [f"not judged: {sum(missing)} moves in {games} game{'' if games == 1 else 's'} ({why})"]


def rematch(options: argparse.Namespace) -> None:
    """An agent in the positions of old games that were not won."""
    spec = resolve(options.agent)
    replays, left_out = read_replays(replay_paths(options.replays))
    team = team_of(replays, options.me)
    board = _board_of(replays)
    if options.mistakes.exists():
        read_openings(options.mistakes, board)  # refused before any work is done
    config = {**(options.config or {}), "rows": board.rows, "columns": board.columns, "inarow": board.inarow}
    setup = Setup(Rules(config, options.bank))
    games = lost_games(judged_reviews(replays, team, options))
    if not games:
        raise ValueError(f"in none of the {len(replays)} replays did {team} fail to win with something to keep")
    with closing(Slot(setup)) as slot:
        OwnSlot(slot).check([spec])
        (player,) = slot.players_for([(spec, 0)])
        answers = list(_asked(player, games, setup.rules, options.seed))
    added, held = add_mistakes(options.mistakes, games)
    console = console_for_tables()
    console.print(answers_table(spec.label, team, answers))
    command = f"python evaluate.py match {options.agent} OLD_AGENT --openings {options.mistakes}"
    lines = [answers_words(spec.label, team, answers), *_notes(left_out)]
    lines.append(f"{options.mistakes}: {added} positions added, {held} in all; a match from there: {command}")
    _say(console, lines)


def _board_of(replays: Sequence[Replay]) -> Geometry:
    """The one board of all of them. Raises ValueError if they are of several."""
    boards = {replay.record.geometry for replay in replays}
    if len(boards) > 1:
        sizes = ", ".join(sorted(f"{board.rows}x{board.columns}" for board in boards))
        raise ValueError(f"rematch takes games of one board, not of {sizes}: name fewer replays")
    return boards.pop()


def _asked(player: Player, games: Sequence[Review], rules: Rules, seed: int) -> Iterator[Answer]:
    """Answers, with a bar. Ctrl-C ends it with those that are there."""
    with progress(sum(len(positions_to_ask(game)) for game in games), "position", "asking", delay=0) as bar:
        try:
            for game in games:
                for answer in ask(player, game, rules, seed):
                    bar.update()
                    yield answer
        except KeyboardInterrupt:
            print("stopped: what follows is of the positions asked until now", file=sys.stderr)

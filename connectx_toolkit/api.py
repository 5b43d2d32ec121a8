"""What notebooks and scripts import: ``from connectx_toolkit import match, build``. It imports little itself.

An agent is a name in agents/, a built-in name of Kaggle's, the path of a Python file or an archive, or a function.
Results print as tables, are shown in notebooks, and are objects with fields.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

from connectx_core.position import STANDARD
from connectx_toolkit.arena.options import GameOptions, MatchOptions, check_arguments
from connectx_toolkit.kaggle.rules import OVERAGE, Rules
from connectx_toolkit.players.spec import AgentSpec, resolve, told_apart
from connectx_toolkit.system.console import as_option, tell
from connectx_toolkit.system.cores import check_concurrency
from connectx_toolkit.system.files import GAMES, check_folder, write_whole

if TYPE_CHECKING:
    from connectx_toolkit.arena.results import Match
    from connectx_toolkit.arena.tournament import Tournament
    from connectx_toolkit.builder.preflight.findings import Report
    from connectx_toolkit.games.game import Game, Read
    from connectx_toolkit.report.exams import Examined
    from connectx_toolkit.report.reviews import Reviewed
    from connectx_toolkit.report.tables import Analysis
    from connectx_toolkit.system.table import Told
    from connectx_toolkit.training.adopt import Adopted

__all__ = [
    "adopt", "agents", "analyse", "board", "build", "check", "episodes", "exam", "explore", "get_win_percentages",
    "match", "report", "tournament",
]  # fmt: skip

Written = TypeVar("Written", "Examined", "Reviewed")
Agent = str | PathLike | Callable | AgentSpec
PAIRS, SPRT_PAIRS, TOURNAMENT_PAIRS = 50, 1000, 20  # of a match: to play, and at most with an SPRT; of a tournament
EXAM_POSITIONS = 300


def _label(anchor: Agent, specs: Sequence[AgentSpec]) -> str:
    name = anchor if isinstance(anchor, AgentSpec) else resolve(anchor).target if callable(anchor) else anchor
    name = fspath(name) if isinstance(name, PathLike) else name
    for spec in specs:
        if name in (spec, spec.label, spec.target):
            return spec.label
    raise ValueError(f"{as_option('anchor')} {anchor!r} is not one of the agents")


def _path(path: str | PathLike | None) -> Path | None:
    return None if path is None else Path(path)


def _write_results(found: Written, page: Path | None, mistakes: Path | None) -> Written:
    """Writes the page, and adds the positions of the mistakes to a file, if asked; what is found says so."""
    notes = list[str]()
    if page:
        write_whole(page, found.page().encode())
        notes.append(f"page: {page}")
    notes += [found.write_mistakes(mistakes)] if mistakes else []
    return replace(found, notes=notes)


def _review_games(
    read: "Read", seconds: float, html: str | PathLike | None, write_mistakes: str | PathLike | None
) -> "Reviewed":
    """One's own of some games, judged; with the page and the mistakes written if asked."""
    from connectx_toolkit.arena.start_positions import check_mistakes
    from connectx_toolkit.games.reader import select_own
    from connectx_toolkit.games.review import review_own_games
    from connectx_toolkit.report.reviews import Reviewed

    page, file = _path(html), _path(write_mistakes)
    check_folder(page)
    own = select_own(read)
    if file:
        boards = {game.geometry for game in own.games}
        if len(boards) > 1:
            sizes = ", ".join(sorted(f"{board.columns}x{board.rows}" for board in boards))
            raise ValueError(f"{as_option('write-mistakes')} takes games of one board, not {sizes}: name fewer replays")
        check_mistakes(file, boards.pop())
    judged = review_own_games(own.games, own.me, seconds, is_whole=page is not None)
    return _write_results(Reviewed(own.me, judged, own.left_out), page, file)


@check_arguments
def get_win_percentages(
    agent1: Agent,
    agent2: Agent,
    n_rounds: int = 100,
    *,
    seed: int | None = None,
    **options: Unpack[GameOptions],
) -> "Match":
    """Plays games in Kaggle's own environment, and prints the four lines of Kaggle's course.

    Each agent moves first in half of the games. The lines are the share of games that each agent won, and the
    invalid plays of each. The course counts a game that ends with a fault as an invalid play, and as nobody's win.
    Below the four lines: wins, draws and losses by seat (here a fault is a loss), faults by kind, and who is
    stronger.

    Files are loaded again before every game, as Kaggle does. Other agents are loaded once, and every game is charged
    that time. An agent that returns 3.0 makes an invalid play; it would end the course's function with an error.

    Ctrl-C, or a notebook's stop button, ends it early and counts the games played until then.

    >>> rounds = get_win_percentages("leftmost", "middle", n_rounds=2, seed=1)  # doctest: +ELLIPSIS
    Agent 1 Win Percentage: 0.5
    ...
    >>> rounds.wins, len(rounds.lost("middle"))
    ((1, 1), 1)

    Args:
        agent1, agent2: names, paths or functions. Each agent runs in a process of its own.
        n_rounds: number of games.
        seed: random seed of the agents; drawn if not given.

    Raises:
        ValueError: an unknown agent or one that cannot be loaded, a bad configuration, or too many workers.
        KeyboardInterrupt: it was stopped before the first game had ended.
    """
    from connectx_toolkit.arena.match import play_rounds, setup_of
    from connectx_toolkit.arena.results import course_lines
    from connectx_toolkit.system.table import print_parts

    setup, seed = setup_of(options, "kaggle"), secrets.randbits(32) if seed is None else seed
    first, second = told_apart((resolve(agent1), resolve(agent2)))
    match = play_rounds((first, second), n_rounds, setup, options["workers"], seed)
    print_parts(course_lines(match))
    return match


@check_arguments
def match(
    agent1: Agent,
    agent2: Agent,
    pairs: int | None = None,
    *,
    sprt: tuple[float, float] | None = None,
    **options: Unpack[MatchOptions],
) -> "Match":
    """Plays pairs of games from balanced openings, each from both seats, and says who is stronger.

    Games are stored as they end: the same match goes on where it was stopped, and more pairs add to those that are
    there. Games are reused only for an unchanged agent. For a file: the same file and data. For a function: the same
    code and the same values behind it, model weights included. Ctrl-C, or a notebook's stop button, ends the match and
    keeps its games.

    >>> match("leftmost", "middle", pairs=2)  # doctest: +ELLIPSIS
    leftmost v middle: 4 games
    ...
    >>> played = match("leftmost", "middle", pairs=2)
    reused 4 of 4 games from runs/games.sqlite; another seed plays new ones
    >>> played.wins, played.evidence.pairs
    ((1, 3), 2)

    Args:
        agent1, agent2: names, paths or functions.
        pairs: number of pairs of games, 50 if not given; with ``sprt`` the largest number, 1000 if not given.
        sprt: two Elo differences, such as 0 and 50; plays until the games accept one of them.

    Raises:
        ValueError: an unknown agent or one that cannot be loaded, a bad configuration or file, or too many workers.
    """
    from connectx_toolkit.arena.stored_games import play_matches
    from connectx_toolkit.statistics.intervals import sprt_of

    test, (first, second) = sprt_of(sprt), told_apart((resolve(agent1), resolve(agent2)))
    pairs = (SPRT_PAIRS if test else PAIRS) if pairs is None else pairs
    (played,) = play_matches([(first, second)], pairs, test, **options)
    return played


@check_arguments
def tournament(
    *agents: Agent,
    pairs: int = TOURNAMENT_PAIRS,
    gauntlet: bool = False,
    anchor: Agent | None = None,
    ladder: str | PathLike | None = None,
    **options: Unpack[MatchOptions],
) -> "Tournament":
    """Plays every two agents against each other and rates all of them. It stores games as ``match`` does.

    >>> found = tournament("leftmost", "middle", "one_step", pairs=2, seed=2)
    leftmost v middle: won 2 drawn 0 lost 2
    leftmost v one_step: won 0 drawn 0 lost 4
    middle v one_step: won 0 drawn 0 lost 4
    >>> found.standings()[0].name
    'one_step'

    Args:
        agents: names, paths or functions; a folder stands for every Python file and archive in it.
        pairs: number of pairs of games for every two agents.
        gauntlet: let only the first agent play, against each of the others.
        anchor: agent whose rating is fixed at 0; the last one if not given.
        ladder: write the ladder to this path, with the endings .md, .svg and .json.

    Raises:
        ValueError: as ``match``; an agent is given twice, there are fewer than two, or the anchor is none of them.
    """
    from connectx_toolkit.arena.schedule import pairings, participants
    from connectx_toolkit.arena.stored_games import play_matches, play_tournament
    from connectx_toolkit.report.ladder import write_ladder

    specs = participants(agents)
    name = specs[-1].label if anchor is None else _label(anchor, specs)
    check_folder(stem := _path(ladder))
    played = play_tournament(play_matches(pairings(specs, gauntlet), pairs, **options), name)
    if stem is not None and not played.is_interrupted:
        write_ladder(stem, played.standings(), name)
    return played


@check_arguments
def exam(
    *agents: Agent,
    count: int | None = None,
    seed: int | None = None,
    positions: str | PathLike | None = None,
    from_one: bool = False,
    me: str | None = None,
    html: str | PathLike | None = None,
    write_mistakes: str | PathLike | None = None,
    **options: Unpack[GameOptions],
) -> "Examined":
    """Asks agents for their moves in positions of 7x6, and compares them with the exact scores.

    Answers are kept in runs/exams: the same exam goes on where it was stopped. Ctrl-C, or a notebook's stop button,
    ends it with the positions that all agents have answered until then.

    >>> exam("leftmost", "one_step", count=20)  # doctest: +ELLIPSIS
    moves by exact score
    ...

    Args:
        agents: names, paths or functions; a folder stands for every Python file and archive in it.
        count: number of positions; if not given, 300, or all of ``positions``.
        seed: random seed of fresh positions; if not given, those of the standard exam are asked.
        positions: file to take positions from: lines of columns, Pons' files, lines of JSON with a board, a file of
            labels, a file of games, or a folder of replays.
        from_one: columns in the file are counted from 1.
        me: the player whose moves are asked; if not given, the one name that is in all games.
        workers: positions at a time, each on a core of its own.
        config: Kaggle's configuration, such as actTimeout; the board stays 7x6.
        overage: overage time in each position: seconds that an agent may use beyond actTimeout.
        html: write a page to this file, with the mistakes to practise.
        write_mistakes: add the positions of the mistakes to this file, for another exam, a match or the board.

    Raises:
        ValueError: no agent, an unknown one, one that cannot be loaded or that is given twice, a bad file, number or
            configuration, or too many workers.
        KeyboardInterrupt: it was stopped before all agents had answered in any position.
    """
    from connectx_toolkit.arena.exam import examine
    from connectx_toolkit.arena.match import setup_of
    from connectx_toolkit.arena.schedule import participants
    from connectx_toolkit.arena.start_positions import check_mistakes
    from connectx_toolkit.games.exam_positions import exam_positions
    from connectx_toolkit.report.exams import Examined

    specs, setup, workers = participants(agents, 1), setup_of(options), options["workers"]
    if setup.rules.geometry != STANDARD:
        raise ValueError("an exam is of 7x6: its configuration cannot change the board")
    check_concurrency(workers)
    source, page, file = _path(positions), _path(html), _path(write_mistakes)
    check_mistakes(file, STANDARD)
    check_folder(page)
    count = count or (EXAM_POSITIONS if source is None else None)
    labels, left_out = exam_positions(count, seed, source, from_one, me)
    return _write_results(Examined(*examine(specs, labels, setup, workers), left_out), page, file)


@check_arguments
def analyse(
    *games: "Game | Sequence[Game] | Sequence[int] | str | PathLike",
    names: tuple[str, str] | None = None,
    from_one: bool = False,
    config: dict | None = None,
    latest: int | None = None,
    me: str | None = None,
    seconds: float = 60.0,
    html: str | PathLike | None = None,
    write_mistakes: str | PathLike | None = None,
) -> "Analysis | Reviewed":
    """Shows which moves gave a result away.

    For one game, it lists every move with its exact score. For a folder or several files of your games, it shows a row
    for each game and a summary of where points were lost.

    >>> found = analyse("3621332145")
    >>> [(move.column, move.best_columns) for move in found.games[0].mistakes]
    [(3, [2])]

    Args:
        games: columns of a game, as text or as a list; or replays, folders, archives, patterns and files of games; or
            games, as from ``get_win_percentages(...).lost(agent)``.
        names: names of the two players of a game given as columns; the first moves first.
        from_one: columns are counted from 1, as on connect4.gamesolver.org, in the game and in what is shown.
        config: Kaggle's configuration of a game given as columns.
        latest: games to show from a file of games; if not given, the latest 10 of each group, or all of one player.
        me: your name in the games, a team or an agent; if not given, the one name that is in all files.
        seconds: limit of processor time per game in seconds; moves left unsolved are marked.
        html: write a page to this file: the summary, and your games to replay with exact scores.
        write_mistakes: add the positions of your mistakes to this file, for an exam, a match or the board.

    Raises:
        ValueError: there are no such games, or an option does not apply to them.
    """
    from connectx_toolkit.games.forms import LINK, is_columns
    from connectx_toolkit.games.game import UNKNOWN_NAMES
    from connectx_toolkit.games.reader import find_games, find_own_games, read_game_file
    from connectx_toolkit.games.review import review_game
    from connectx_toolkit.report.tables import Analysis

    check_folder(_path(html))
    first, second = names or UNKNOWN_NAMES
    texts = [fspath(one) for one in games if isinstance(one, str | PathLike)]
    is_path = len(texts) == len(games) and any(Path(text).exists() or not is_columns(text) for text in texts)
    is_review = me is not None or html or write_mistakes
    if not is_path:
        if is_review or latest:
            raise ValueError(f"{as_option('me')}, {as_option('html')} and the like are for replays and files of games")
        what = " ".join(texts) if texts else games[0] if len(games) == 1 else games  # 3 3 4 2 is one game
        from_one |= any(map(LINK.fullmatch, texts))
        read = find_games(what, Rules(config or {}).geometry, (first, second), from_one)
        return Analysis([review_game(game, seconds) for game in read.games], read.left_out, int(from_one))
    path = Path(texts[0])
    is_one = len(texts) == 1 and not path.is_dir() and (path.exists() or not set("*?[") & set(texts[0]))
    for name, value in (("names", names), ("from-one", from_one and (is_review or not is_one)), ("config", config)):
        if value:
            told = "replays and files of games tell theirs"
            raise ValueError(f"{as_option(name)} is for a game given as columns: {told}")
    if is_one and not is_review:
        read = read_game_file(path, latest, from_one)
        return Analysis([review_game(game, seconds) for game in read.games], read.left_out, int(from_one))
    return _review_games(find_own_games(texts, me or None, latest), seconds, html, write_mistakes)


@check_arguments
def episodes(
    submission: int | None = None,
    /,
    *,
    latest: int | None = None,
    games: str | PathLike = GAMES,
    me: str | None = None,
    seconds: float = 60.0,
    html: str | PathLike | None = None,
    write_mistakes: str | PathLike | None = None,
) -> "Reviewed | Told":
    """Fetches the games of one of your submissions from Kaggle, with your agent's logs, and analyses them.

    Each file is fetched once, into runs/episodes. The games are added to the file of games. You
    need Kaggle's credentials, in ~/.kaggle/access_token or KAGGLE_API_TOKEN.

    Args:
        submission: number of the submission; without one, your submissions are listed.
        latest: number of games, the latest ones; all if not given.
        games: file that keeps the games.
        me, seconds, html, write_mistakes: as for ``analyse``.

    Raises:
        ValueError: Kaggle refuses, or there are no such games.
    """
    from connectx_toolkit.games.episodes import fetch_games, own_submissions
    from connectx_toolkit.report.tables import submissions_table
    from connectx_toolkit.system.table import Told

    if submission is None:
        for name, value in (("latest", latest), ("me", me), ("html", html), ("write-mistakes", write_mistakes)):
            if value:
                raise ValueError(f"{as_option(name)} is for the games of a submission: name one")
        return Told([submissions_table(own_submissions())])
    return _review_games(fetch_games(submission, latest, Path(games), me), seconds, html, write_mistakes)


@check_arguments
def explore(
    *moves: str,
    add: Sequence[str] = (),
    remove: Sequence[str] = (),
    games: str | PathLike = GAMES,
    origin: Literal["ladder", "arena", "all"] = "ladder",
    me: str | None = None,
    seat: Literal["first", "second"] | None = None,
    opponent: str | None = None,
    since: str | None = None,
    from_one: bool = False,
    config: dict | None = None,
    seconds: float = 10.0,
) -> "Told":
    """Shows what was played in a position: how often, by whom, how it ended, and the exact score of each move.

    Mirror images of the position count as the same.

    Args:
        moves: the columns played so far, counted from 0, for example 3342; without them, the empty board.
        add: replays, folders or archives of replays to add first.
        remove: games of the ladder to remove first: Kaggle's numbers, or the files or folders that they came from.
        games: file that keeps the games.
        origin: the games that count: those of the ladder, those of your own matches (arena), or all.
        me: your name in the games; if not given, the owner of the added games, or the name that is in all games.
        seat: count only games in which you moved first, or second.
        opponent: count only games against this player.
        since: count only games known to be from this day (UTC) or later, for example 2026-11-30 or 2026-11.
        from_one: columns are counted from 1.
        config: Kaggle's configuration of another board.
        seconds: time limit for the exact scores in seconds.

    Raises:
        ValueError: there are no such games, or the columns cannot be played.
    """
    from connectx_toolkit.games.exploring import explore_position
    from connectx_toolkit.report.tables import explored_parts

    asked = explore_position(
        moves, from_one, config, Path(games), origin, add, remove, me, opponent, seat, since, seconds
    )
    return explored_parts(asked)


@check_arguments
def report(
    *,
    games: str | PathLike = GAMES,
    ladder: str | PathLike | None = None,
    html: str | PathLike | None = None,
    latest: int = 20,
    judge: bool = False,
) -> "Told":
    """Shows a ladder and a table of all results, from stored games. Nothing is played.

    Args:
        games: file that keeps the games.
        ladder: write the ladder to this path, with the endings .md, .svg and .json.
        html: write a page to this file, with charts and games to replay.
        latest: number of games of each group on the page: the latest ones of every two agents, at least one of each.
        judge: add exact scores to the games on the page.

    Raises:
        ValueError: there are no games of matches, or a file cannot be written.
    """
    from connectx_toolkit.games.groups import latest_of, match_groups
    from connectx_toolkit.games.review import Review, review_game
    from connectx_toolkit.report.standings import results

    if judge and not html:
        raise ValueError(f"{as_option('judge')} is for the games on the page: {as_option('html', 'FILE')}")
    check_folder(_path(html))
    check_folder(_path(ladder))
    found, left_out = match_groups(Path(games))
    if ladder and len(found) > 1:
        titles = "; ".join(found)
        raise ValueError(f"{as_option('ladder')} takes a file of one kind of matches, but {games} holds {titles}")
    shown = [latest_of(matches, latest) if html else [] for matches in found.values()]
    pages = [[review_game(game) if judge else Review(game, []) for game in part] for part in shown]
    return results(found, pages, left_out, _path(ladder), _path(html), judge)


def agents() -> "Told":
    """Lists the agents of the toolkit: what each does, its measured strength, its weights and its size."""
    from connectx_toolkit.report.catalogue import catalogue

    return catalogue()


@check_arguments
def board(
    *agents: str,
    second: bool = False,
    game: str | None = None,
    practise: str | PathLike | None = None,
    from_one: bool = False,
    config: dict | None = None,
    overage: float = OVERAGE,
    games: str | PathLike | None = None,
    browser: bool = True,
) -> None:
    """Opens a board in the browser: play, watch two agents, or analyse a game with exact scores.

    The page is on this machine (127.0.0.1). Its address has a token, new for each run, which other users of the machine
    do not see. You can change agents, board and game on the page. Ctrl-C ends the board; the exit code is then 0.

    Args:
        agents: one agent to play against you, or two to play each other.
        second: you move second: the agent begins.
        game: game to look at: its columns, counted from 0, or a replay (.json).
        practise: file with positions, one a line, in which you look for the best column.
        from_one: columns are counted from 1.
        config: Kaggle's configuration, such as actTimeout, rows, columns and inarow.
        overage: overage time of each agent in a game, in seconds.
        games: file of games; shows what was played in each position.
        browser: False opens no browser. The address is printed in any case; into a file that others may read, that of a
            page which leads there and which only you can read.

    Raises:
        ValueError: an unknown agent, a bad configuration or file, or a game that cannot be played.
    """
    from connectx_toolkit.board import server, session

    opening = session.opening_of(
        agents, Rules(config or {}, overage), game or None, _path(games),
        second=second, practise=_path(practise), from_one=from_one,
    )  # fmt: skip
    server.run_board(opening, browser)


@check_arguments
def build(
    agent: str | PathLike | Callable,
    output: str | PathLike | None = "submission.py",
    *,
    data: str | PathLike | Sequence[str | PathLike] = (),
    book: str | PathLike | None = None,
    allow_package: str | Sequence[str] = (),
    machine_code: bool = True,
    positions: int = 120,
    slowdown: float | None = None,
    full: bool = False,
) -> "Report":
    """Builds the one file that Kaggle accepts, and checks it. A file that would be rejected is not written.

    It follows the agent's imports and data, plays the file in Kaggle's own environment, and compares its moves with
    the agent's own: in every position after 0 to 3 plies, in whole games, and in other positions. That takes some
    seconds, or some minutes if a move takes a second.

    >>> build("leftmost", "submission.py", positions=20).verdict
    'ACCEPT'

    Args:
        agent: a name from agents/, a Python file, a notebook ("lesson.ipynb" or "lesson.ipynb:my_agent"), or a function
            of this notebook, with its current values.
        output: file to write, a .py or a .tar.gz; it replaces only what was built before. None:
            submissions/AGENT.py, or .tar.gz if the agent names files beside it.
        data: file or folder to add to the archive; may be several. Files that the source names are added anyway, except
            credentials and databases.
        book: book of the second seat to build into "perfect", made by ``train.py book``; ours if not given.
        allow_package: package to accept although Kaggle is not known to have it; may be several.
        machine_code: False leaves out the machine code of the toolkit's search and solver: numba then compiles them at
            every load.
        positions: number of other positions in which moves are compared, besides the 295 openings and the games; fewer
            are asked if moves take long.
        slowdown: measure also on 1/slowdown of a core, as on a slower machine.
        full: play the validation game at Kaggle's clock, which takes a minute or more. A check always does.

    Raises:
        NotAccepted: Kaggle would reject the file, or it plays otherwise than its source; ``report`` says why.
        Refused: the agent cannot be built; the message has the place and the cure.
        ValueError: there is no such agent, or the output must not be written.
    """
    from connectx_toolkit.builder.submission import BuildOptions, build_agent, packages_of

    files = [Path(each) for each in ([data] if isinstance(data, str | PathLike) else data)]
    options = BuildOptions(positions, slowdown, full, machine_code)
    return build_agent(
        agent, _path(output), options, tell, data=files, book=_path(book), allowed=packages_of(allow_package)
    )


@check_arguments
def check(file: str | PathLike, *, allow_package: str | Sequence[str] = (), slowdown: float | None = None) -> "Report":
    """Says whether Kaggle will accept a finished file, a .py or a .tar.gz, and if not, why.

    It plays the file in Kaggle's own environment, at Kaggle's clock. The report's ``verdict`` is "ACCEPT", "REJECT", or
    "NOT JUDGED" where this machine lacks what is needed.

    >>> report = check("submission.py")
    >>> report.verdict, report.reasons
    ('ACCEPT', [])

    Args:
        file: a finished .py or .tar.gz, or a notebook that writes one.
        allow_package, slowdown: as for ``build``.

    Raises:
        OSError: the file cannot be read.
    """
    from connectx_toolkit.builder.submission import BuildOptions, check_file, packages_of

    return check_file(Path(file), BuildOptions(slowdown=slowdown), packages_of(allow_package), tell)


@check_arguments
def adopt(
    model: Any,
    output: str | PathLike = "adopted.py",
    *,
    module: Any = "",
    observation: Any = "",
    arguments: dict | None = None,
    board: str = "6x7k4",
    positions: int = 500,
) -> "Adopted":
    """Makes an agent of a trained model: a Python file, and its weights beside it. Nothing is trained again.

    Before anything is written, the agent's moves are compared with those of the model itself.

        adopt(model, observation=encode)        a model that was trained in this notebook
        adopt("model.zip", "my_ppo_agent.py")   one that was saved

    Args:
        model: a model of stable-baselines3, a torch module, or the path of a saved one.
        output: the agent's file.
        module: class of the network, or FILE:NAME, for a state_dict; or class of a features extractor that the archive
            lacks. A live model needs none.
        observation: what the model sees: "course", "sides", an encoding, or a function of (obs, config).
        arguments: arguments of the network's class.
        board: board that it plays on: rows x columns k inarow.
        positions: number of positions in which the agent's moves are compared with the model's.

    Raises:
        ValueError: it is no such model, or the agent would play otherwise.
        OSError: the model cannot be read, or the agent not be written.
    """
    import json

    from connectx_toolkit.training.adopt import adopt_any

    settings = {"arguments": json.dumps(arguments or {}), "board": board, "positions": positions}
    return adopt_any(model, Path(output), module, observation, **settings)

"""What notebooks and scripts import: ``from connectx_toolkit import match, build``. It imports little itself.

An agent is a name in agents/, a built-in name of Kaggle's, the path of a Python file or an archive, or a callable, such
as a function of a notebook's cell. Results print as tables, are shown in notebooks, and are objects with fields.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from connectx.position import STANDARD
from connectx_toolkit.kaggle.rules import OVERAGE, Rules
from connectx_toolkit.players.spec import AgentSpec, resolve, told_apart
from connectx_toolkit.system.console import as_option, tell
from connectx_toolkit.system.cores import check_concurrency
from connectx_toolkit.system.files import GAMES, check_folder

if TYPE_CHECKING:
    from connectx_toolkit.builder.preflight.findings import Report
    from connectx_toolkit.games.game import Game
    from connectx_toolkit.games.match import Match
    from connectx_toolkit.games.tournament import Tournament
    from connectx_toolkit.report.exams import Examined
    from connectx_toolkit.report.tables import Analysis
    from connectx_toolkit.training.adopt import Adopted

__all__ = ["adopt", "analyse", "build", "check", "exam", "get_win_percentages", "match", "tournament"]

Agent = str | PathLike | Callable | AgentSpec
PAIRS, SPRT_PAIRS, TOURNAMENT_PAIRS = 50, 1000, 20  # of a match: to play, and at most with an SPRT; of a tournament
EXAM_POSITIONS = 300


def _label(anchor: Agent, specs: Sequence[AgentSpec]) -> str:
    target = resolve(anchor).target if callable(anchor) else None
    for spec in specs:
        if anchor in (spec, spec.label) or spec.target == target:
            return spec.label
    raise ValueError(f"{as_option('anchor')} {anchor!r} is not one of the agents")


def _path(path: str | PathLike | None) -> Path | None:
    return None if path is None else Path(path)


def get_win_percentages(
    agent1: Agent,
    agent2: Agent,
    n_rounds: int = 100,
    *,
    workers: int = 1,
    config: dict | None = None,
    seed: int | None = None,
    overage: float = OVERAGE,
    isolate: bool = True,
) -> "Match":
    """Plays ``n_rounds`` games, half of them with agent 1 moving first, and prints the four lines of Kaggle's course.

    These are the shares of the games that ended 1 to -1 and -1 to 1, and the invalid plays. For the course, a game that
    an agent loses by a fault is an invalid play and nobody's win. Below the four lines stands what else the games tell:
    wins with such games counted as losses, by seat, faults by kind, and who is stronger.

    The games are played in Kaggle's own environment. Files are loaded again before every game, as Kaggle does. Other
    agents are loaded once, and every game is charged that time. An agent that returns 3.0 would end the course's
    function with an error; here that is an invalid play.

    Ctrl-C, or a notebook's stop button, ends it early with the games that have been played until then.

    >>> rounds = get_win_percentages("leftmost", "middle", n_rounds=2, seed=1)  # doctest: +ELLIPSIS
    Agent 1 Win Percentage: 0.5
    ...
    >>> rounds.wins, len(rounds.lost("middle"))
    ((1, 1), 1)

    Args:
        agent1, agent2: names, paths or callables. Each runs in a process of its own. The lines name a callable by its
            module and name, or by its name alone if it is the notebook's; two of one name also by their cells.
        n_rounds: games in all.
        workers: games at a time, each on a core of its own.
        config: Kaggle's configuration; 6 rows, 7 columns and 4 in a row unless it says otherwise.
        seed: of the agents' random generators; None draws one.
        overage: seconds that an agent may use beyond actTimeout in a whole game.
        isolate: False lets agents play in this process, which is faster. Callables that use a GPU, JAX or numba's
            ``parallel=True`` need it; none may hang or crash.

    Raises:
        ValueError: an unknown agent or one that cannot be loaded, a bad configuration, or too many workers.
        KeyboardInterrupt: it was stopped before the first game had ended.
    """
    from connectx_toolkit.arena.match import play_rounds
    from connectx_toolkit.games.match import course_lines
    from connectx_toolkit.players.process import Setup

    setup = Setup(Rules(config or {}, overage), "kaggle", isolate=isolate)
    seed = secrets.randbits(32) if seed is None else seed
    first, second = told_apart((resolve(agent1), resolve(agent2)))
    match = play_rounds((first, second), n_rounds, setup, workers, seed)
    print(*course_lines(match), sep="\n")
    return match


def match(
    agent1: Agent,
    agent2: Agent,
    pairs: int | None = None,
    *,
    sprt: Sequence[float] | None = None,
    workers: int = 1,
    config: dict | None = None,
    overage: float = OVERAGE,
    openings: str | PathLike | None = None,
    seed: int = 1,
    games: str | PathLike = GAMES,
    scheduler: str | None = None,
    isolate: bool = True,
) -> "Match":
    """Plays pairs of games from balanced openings, each from both seats, and says who is stronger.

    Games are stored as they end: the same match goes on where it was stopped, and more pairs add to those that are
    there. An agent is the same if its file and data are; a function, if its code and all values that it reaches are,
    such as the weights of a model. Ctrl-C, or a notebook's stop button, ends it with the games played until then.

    >>> match("leftmost", "middle", pairs=2)  # doctest: +ELLIPSIS
    leftmost v middle: 4 games
    ...
    >>> played = match("leftmost", "middle", pairs=2)
    reused 4 of 4 games from runs/games.sqlite; another seed plays new ones
    >>> played.wins, played.evidence.pairs
    ((1, 3), 2)

    Args:
        agent1, agent2: names, paths or callables.
        pairs: number of pairs of games; None: 50. With ``sprt``, the largest number; None: 1000.
        sprt: two Elo differences, such as (0, 50): play until the games accept one of them.
        workers: games at a time, each on a core of its own.
        config: Kaggle's configuration; 6 rows, 7 columns and 4 in a row unless it says otherwise.
        overage: seconds that an agent may use beyond actTimeout in a whole game.
        openings: a file with an opening on each line, as columns counted from 0; or "empty".
        seed: of the openings and the agents; another seed plays new games.
        games: the file that keeps them.
        scheduler: address of a dask cluster to play on, where functions cannot play.
        isolate: as for ``get_win_percentages``.

    Raises:
        ValueError: an unknown agent or one that cannot be loaded, a bad configuration or file, or too many workers.
    """
    from connectx_toolkit.arena.stored_games import Plan, play_matches
    from connectx_toolkit.players.process import Setup
    from connectx_toolkit.statistics.intervals import sprt_of

    test, (first, second) = sprt_of(sprt), told_apart((resolve(agent1), resolve(agent2)))
    pairs = (SPRT_PAIRS if test else PAIRS) if pairs is None else pairs
    setup = Setup(Rules(config or {}, overage), isolate=isolate)
    plan = Plan(setup, pairs, Path(games), seed, _path(openings), workers, scheduler, test)
    (played,) = play_matches([(first, second)], plan)
    return played


def tournament(
    *agents: Agent,
    pairs: int = TOURNAMENT_PAIRS,
    gauntlet: bool = False,
    anchor: Agent | None = None,
    ladder: str | PathLike | None = None,
    workers: int = 1,
    config: dict | None = None,
    overage: float = OVERAGE,
    openings: str | PathLike | None = None,
    seed: int = 1,
    games: str | PathLike = GAMES,
    scheduler: str | None = None,
    isolate: bool = True,
) -> "Tournament":
    """Plays every two agents against each other and rates all of them. Games are stored as those of ``match``.

    >>> found = tournament("leftmost", "middle", "one_step", pairs=2, seed=2)
    leftmost v middle: won 2 drawn 0 lost 2
    leftmost v one_step: won 0 drawn 0 lost 4
    middle v one_step: won 0 drawn 0 lost 4
    >>> found.standings()[0].name
    'one_step'

    Args:
        agents: names, paths, callables, or folders, which mean every Python file and archive in them.
        pairs: number of pairs of games for every two agents.
        gauntlet: let only the first agent play, against each of the others.
        anchor: the agent whose rating is fixed at 0; None: the last one.
        ladder: also write the ladder to this path with the endings .md, .svg and .json.
        workers, config, overage, openings, seed, games, scheduler, isolate: as for ``match``.

    Raises:
        ValueError: as ``match``; an agent is given twice, there are fewer than two, or the anchor is none of them.
    """
    from connectx_toolkit.arena.schedule import pairings, participants
    from connectx_toolkit.arena.stored_games import Plan, play_matches, play_tournament
    from connectx_toolkit.players.process import Setup
    from connectx_toolkit.report.ladder import write_ladder

    specs = participants(agents)
    name = specs[-1].label if anchor is None else _label(anchor, specs)
    check_folder(stem := _path(ladder))
    setup = Setup(Rules(config or {}, overage), isolate=isolate)
    plan = Plan(setup, pairs, Path(games), seed, _path(openings), workers, scheduler)
    played = play_tournament(play_matches(pairings(specs, gauntlet), plan), name)
    if stem is not None and not played.is_interrupted:
        write_ladder(stem, played.standings(), name)
    return played


def exam(
    *agents: Agent,
    count: int | None = None,
    seed: int | None = None,
    positions: str | PathLike | None = None,
    from_one: bool = False,
    me: str | None = None,
    seat: Literal["first", "second"] | None = None,
    result: Literal["won", "drawn", "lost"] | None = None,
    times: int = 1,
    workers: int = 1,
    config: dict | None = None,
    overage: float = OVERAGE,
    html: str | PathLike | None = None,
    write_mistakes: str | PathLike | None = None,
) -> "Examined":
    """Asks agents for their moves in positions of 7x6 of which every move's exact score is known.

    Positions that were solved and answers are kept in runs/exams: the same exam goes on where it was stopped. Ctrl-C,
    or a notebook's stop button, ends it with the positions that all agents have answered until then.

    >>> exam("leftmost", "one_step", count=20)  # doctest: +ELLIPSIS
    moves by exact score
    ...

    Args:
        agents: names, paths, callables, or folders, which mean every Python file and archive in them.
        count: number of positions; None: 300, or all of those of ``positions``.
        seed: draws fresh positions, by the same recipes; None takes those of the standard exam.
        positions: takes them from a file: lines of columns, lines of columns and score as in Pons' files, lines of JSON
            with a board, a file of labels, a file of games, or a folder of replays.
        from_one: columns in the file are counted from 1.
        me: whose moves in the games are asked; None: the one name that is in all of them.
        seat: "first" or "second", to take only the games in which ``me`` had this seat.
        result: "won", "drawn" or "lost", to take only such games.
        times: how often each position is asked, with other random numbers each time.
        workers: positions at a time, each on a core of its own.
        config: Kaggle's configuration, such as actTimeout; the board stays 7x6.
        overage: seconds that an agent may use beyond actTimeout, in each position anew.
        html: write a page to this file, with the mistakes to practise.
        write_mistakes: add the positions of the mistakes to this file, for ``positions``, ``openings`` and the board.

    Raises:
        ValueError: no agent, an unknown one, one that cannot be loaded or that is given twice, a bad file, number or
            configuration, or too many workers.
        KeyboardInterrupt: it was stopped before all agents had answered in any position.
    """
    from connectx_toolkit.arena.schedule import participants
    from connectx_toolkit.arena.start_positions import check_mistakes
    from connectx_toolkit.games.exam_positions import exam_positions
    from connectx_toolkit.players.process import Setup
    from connectx_toolkit.report.exams import examined

    specs, setup = participants(agents, 1), Setup(Rules(config or {}, overage))
    if setup.rules.geometry != STANDARD:
        raise ValueError("an exam is of 7x6: its configuration cannot change the board")
    for name, value in (("count", count), ("times", times)):
        if value is not None and (type(value) is not int or value < 1):
            raise ValueError(f"{name} should be an integer of at least 1, not {value!r}")
    check_concurrency(workers)
    source, page, file = _path(positions), _path(html), _path(write_mistakes)
    check_mistakes(file, STANDARD)
    check_folder(page)
    count = count or (EXAM_POSITIONS if source is None else None)
    labels, left_out = exam_positions(count, seed, source, from_one, me, seat, result)
    found = examined(specs, labels, setup, times, workers, left_out)
    notes = [found.write_page(page)] if page else []
    notes += [found.write_mistakes(file)] if file else []
    return replace(found, notes=notes)


def analyse(
    games: "Game | Sequence[Game] | Sequence[int] | str | PathLike", from_ply: int | None = None, seconds: float = 60.0
) -> "Analysis":
    """Judges the moves of games by their exact scores, and shows where each game turned; of one game, every move.

    >>> found = analyse("3621332145", from_ply=8)
    >>> [(move.column, move.best_columns) for move in found.games[0].mistakes]
    []

    Args:
        games: from ``get_win_percentages(...).lost(agent)``; or the columns of a game on 7x6, as text or as a list (as
            ``Board.moves`` is); or the path of a Kaggle replay, or of a file of games, of which the latest ones are
            taken.
        from_ply: the first ply to judge. None: ply 0; on 7x6 without the opening table, ply 10.
        seconds: time limit per game; moves left unsolved are marked.

    Raises:
        ValueError: there are no such games, or their board is too large for the solver.
    """
    from connectx_toolkit.games.game import Game
    from connectx_toolkit.report.tables import Analysis, analysed, games_of

    if isinstance(games, str | PathLike):
        games = games_of(fspath(games))
    chosen: list[Any] = [games] if isinstance(games, Game) else list(games)
    if chosen and all(isinstance(column, int) for column in chosen):
        chosen = games_of(",".join(map(str, chosen)))
    return Analysis(list(analysed(chosen, from_ply, seconds)))


def build(
    agent: str | PathLike | Callable,
    output: str | PathLike | None = None,
    *,
    data: str | PathLike | Sequence[str | PathLike] = (),
    book: str | PathLike | None = None,
    allow_package: str | Sequence[str] = (),
    dtype: Literal["float16", "int8"] | None = None,
    machine_code: bool = True,
    positions: int = 500,
    slowdown: float | None = None,
    full: bool = False,
    size_limit: float = 100.0,
    memory_limit: float = 6144.0,
) -> "Report":
    """Builds the one file that Kaggle accepts, and checks it; a file that would be rejected is not written.

    It follows the agent's imports and data, plays the file in Kaggle's own environment, and compares its moves with
    those of its source. That takes about a minute, more for torch.

    >>> build("leftmost", "submission.py", positions=20).verdict
    'ACCEPT'

    Args:
        agent: a name from agents/, a Python file, a notebook ("lesson.ipynb" or "lesson.ipynb:my_agent"), or a function
            of this notebook, with the values that it has now.
        output: the file to write, a .py or a .tar.gz; it replaces only what was built before. None: in a checkout
            submissions/AGENT.py, or .tar.gz if the agent names files beside it; where Python is typed, submission.py.
        data: a file or folder to add to the archive; may be several. Files beside the agent that a string in its source
            names are added anyway, but for credentials and databases.
        book: a second seat's book to build into "perfect", as ``train.py book --second`` makes it; None: ours.
        allow_package: accept the import of a package that Kaggle is not known to have; may be several.
        dtype: precision of the float arrays in embedded data, "float16" or "int8"; the built file is then compared with
            the source on the same rounded arrays. None: as they are.
        machine_code: False leaves out the machine code of the toolkit's search and solver: numba then compiles them at
            every load.
        positions: largest number of positions on which the built file is compared with its source (500); about 100 are
            asked if a move takes 0.1 s.
        slowdown: also measure times on 1/slowdown of a core, as on a slower machine.
        full: also ask on boards of other sizes, and play the validation game at Kaggle's clock, which takes a minute or
            more; a check always plays it.
        size_limit: largest submission, in MiB (100).
        memory_limit: memory that the agent may use, in MiB (6144).

    Raises:
        NotAccepted: Kaggle would reject the file, or it plays otherwise than its source; ``report`` says all.
        Refused: the agent cannot be built; with the place and the cure.
        ValueError: there is no such agent, or the output must not be written.
    """
    from connectx_toolkit.builder.submission import built, options_of, packages_of

    files = [Path(each) for each in ([data] if isinstance(data, str | PathLike) else data or ())]
    options = options_of(dtype, positions, slowdown, full, size_limit, memory_limit, machine_code)
    return built(agent, _path(output), options, tell, data=files, book=_path(book), allowed=packages_of(allow_package))


def check(
    file: str | PathLike,
    *,
    allow_package: str | Sequence[str] = (),
    slowdown: float | None = None,
    full: bool = False,
    size_limit: float = 100.0,
    memory_limit: float = 6144.0,
) -> "Report":
    """Says whether Kaggle will accept a finished file, a .py or a .tar.gz, and if not, why.

    It plays the file in Kaggle's own environment, at Kaggle's clock. The report's ``verdict`` is "ACCEPT", "REJECT", or
    "NOT JUDGED" where this machine lacks what is needed.

    >>> report = check("submission.py")
    >>> report.verdict, report.reasons
    ('ACCEPT', [])

    Args:
        file: a finished .py or .tar.gz, or a notebook, of which the file that it writes is checked.
        allow_package, slowdown, full, size_limit, memory_limit: as for ``build``.

    Raises:
        OSError: the file cannot be read.
    """
    from connectx_toolkit.builder.submission import checked, options_of, packages_of

    options = options_of(None, 1, slowdown, full, size_limit, memory_limit)
    return checked(Path(file), options, packages_of(allow_package), tell)


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
        model: a model of stable-baselines3, a torch module, or the path of one that was saved.
        output: the agent's file.
        module: the class of the network, or FILE:NAME of it, where the model is the path of a state_dict; or that of a
            features extractor, where an archive lacks it. A live model needs none.
        observation: what the model sees: "course", "sides", an encoding, or a function of (obs, config).
        arguments: those of the network's class.
        board: the board that it plays on, as rows, columns and inarow.
        positions: on which the agent's moves are compared with the model's.

    Raises:
        ValueError: it is no such model, or the agent would play otherwise.
        OSError: the model cannot be read, or the agent not be written.
    """
    import json

    from connectx_toolkit.training.adopt import adopt_any

    settings = {"arguments": json.dumps(arguments or {}), "board": board, "positions": positions}
    return adopt_any(model, Path(output), module, observation, **settings)

"""Plays a match between two agents: pairs of games with swapped seats, and when to stop."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from hashlib import sha256

from connectx_toolkit.arena.play.openings import Opening
from connectx_toolkit.arena.play.pool import Pool, open_pool
from connectx_toolkit.arena.players.spec import AgentSpec
from connectx_toolkit.arena.players.task import Setup, Task
from connectx_toolkit.arena.results.evidence import Evidence
from connectx_toolkit.arena.results.match import COPIES, Match
from connectx_toolkit.arena.results.records import Game
from connectx_toolkit.arena.results.stats import Sprt
from connectx_toolkit.console.progress import progress


def derived_seed(*parts: object) -> int:
    """A seed of 63 bits that depends on all parts and on nothing else."""
    text = "/".join(map(str, parts))
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1


def pair_tasks(
    first: AgentSpec, second: AgentSpec, openings: Sequence[Opening], pairs: int, seed: int
) -> Iterator[Task]:
    """The games of a match in order: in each pair, first the game in which ``first`` moves first, then the other.

    Openings are used in order, and repeated if there are fewer openings than pairs.
    """
    for pair in range(pairs):
        opening = openings[pair % len(openings)]
        for swapped in (0, 1):
            number = 2 * pair + swapped
            seeds = [derived_seed(seed, number, agent) for agent in (1, 2)]
            players, order = ((second, first), seeds[::-1]) if swapped else ((first, second), seeds)
            yield Task(number, players, opening, (order[0], order[1]))


def play_match(
    first: AgentSpec,
    second: AgentSpec,
    setup: Setup,
    openings: Sequence[Opening],
    pairs: int,
    seed: int,
    concurrency: int = 1,
    sprt: Sprt | None = None,
    known: Mapping[int, Game] | None = None,
    on_game: Callable[[Task, Game], Game] = lambda task, game: game,
    on_pair: Callable[[Evidence], None] = lambda evidence: None,
    pool: Pool | None = None,
    fixed: int | None = None,
) -> Match:
    """Plays up to ``pairs`` pairs, or until the SPRT accepts a hypothesis, or the agents only repeat themselves.

    Pairs are looked at in the order of their numbers, not as they finish, because short games finish first. So a match
    stops at the same pair for any concurrency; later pairs are left out. Ctrl-C ends it with the pairs played so far.

    Args:
        seed: determines the seed of every game and agent.
        known: games of this match that were played earlier; they are not played again.
        on_game: called with each new game; gives the one that counts, which is another one in a store that has it.
        on_pair: called with the evidence so far after each pair, in their order.
        pool: where to play, opened with the same setup; by default one for ``concurrency`` games at a time is opened.
        fixed: number of games, if all are to be played whatever their results: that of the pairs, or one less. Then the
            last pair is only the game in which ``second`` moves first.
    """
    match = Match(first, second, dict(known or {}), seed=seed, fixed=fixed)
    left_out = {*match.games, *([fixed - 1] if fixed and fixed % 2 else [])}
    tasks = (task for task in pair_tasks(first, second, openings, pairs, seed) if task.number not in left_out)
    watch = _Watch(match, sprt, on_pair)
    try:
        if not watch.is_over():
            with open_pool(setup, concurrency) if pool is None else nullcontext(pool) as used:
                for task, game in used.play(tasks):
                    match.games[task.number] = on_game(task, game)
                    if watch.is_over():
                        break
    except KeyboardInterrupt:
        match.ending = "interrupted"
    last = 2 * (watch.evidence.pairs if watch.ending else pairs)
    match.games = {number: game for number, game in match.games.items() if number < last}
    match.ending = watch.ending or match.ending
    return match


def play_rounds(specs: tuple[AgentSpec, AgentSpec], n_rounds: int, setup: Setup, workers: int, seed: int) -> Match:
    """Plays ``n_rounds`` games from the empty board, ``workers`` at a time. Agent 1 moves first in half, rounded down.

    The seats are swapped after each game, so that a run that Ctrl-C ends early has games of both; those are kept.

    Raises:
        ValueError: ``n_rounds`` is below 1, ``workers`` is above the number of cores, or an agent cannot be loaded.
        KeyboardInterrupt: it came before the first game had finished.
    """
    if type(n_rounds) is not int or n_rounds < 1:
        raise ValueError(f"n_rounds should be an integer of at least 1, not {n_rounds!r}")
    with open_pool(setup, workers) as pool:
        pool.check(dict.fromkeys(specs))
        with progress(n_rounds, "game") as bar:

            def on_game(task: Task, game: Game) -> Game:
                bar.update()
                return game

            pairs = (n_rounds + 1) // 2
            match = play_match(*specs, setup, [()], pairs, seed, on_game=on_game, pool=pool, fixed=n_rounds)
    if not match.games:
        raise KeyboardInterrupt
    return match


class _Watch:
    """Looks at the pairs of a match in order, as far as they are complete, and tells when to stop."""

    def __init__(self, match: Match, sprt: Sprt | None, on_pair: Callable[[Evidence], None]):
        self.match = match
        self.sprt = sprt
        self.on_pair = on_pair
        self.evidence = Evidence()
        self.copies = 0  # in a row
        self.ending = ""

    def is_over(self) -> bool:
        """Whether the match ends after ``self.evidence.pairs`` pairs."""
        games = self.match.games
        while not self.ending and 2 * (index := self.evidence.pairs) in games and 2 * index + 1 in games:
            is_new = self.evidence.add(self.match.pair(index))
            self.copies = 0 if is_new else self.copies + 1
            if self.sprt and self.sprt.accepted(self.evidence.counts):
                self.ending = "sprt"
            elif self.copies == COPIES and self.match.fixed is None:
                self.ending = "copies"
            self.on_pair(self.evidence)
        return bool(self.ending)

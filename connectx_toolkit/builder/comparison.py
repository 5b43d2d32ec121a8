"""The proof of a build: does the file, as it is written, play as its original does?

The original (``connectx_toolkit.builder.originals``) is asked every position after 0 to 3 plies, whole games that it
plays itself, and other positions. The file is loaded by Kaggle's loader in another process, under another hash seed,
and asked the same in the same order. Then both play more games in new processes, first from the second seat, the file
with other seeds of what is random as it loads, and a day later by its clocks. An agent that fails because of what it
was asked before is asked each game and each position in a new process. Where moves differ and chance decides some of
them, both are asked again in new processes, and how often they choose what is compared: with the same seeds, with which
a faithful file draws the same; with other ones if one side may be slower, or draws a network's moves in another way.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby
from math import sqrt
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from connectx_core.position import STANDARD, Geometry
from connectx_toolkit.builder.originals import Kinds, Original, SideAnswer, answer_of
from connectx_toolkit.builder.preflight.findings import Report
from connectx_toolkit.builder.preflight.trial import (
    FEW_NODES,
    SAMPLE_GEOMETRIES,
    Question,
    Sandbox,
    comparison_question,
    opening_questions,
    sample_questions,
)
from connectx_toolkit.kaggle.rules import sizes_of
from connectx_toolkit.system.console import progress

TOPIC = "same moves"
FULL_GAMES, POSITIONS = 6, 120  # besides the openings; where no move of N differs, fewer than 3 of N would (at 95%)
LATER = 6  # games that both play in another process, so that each seat once plays as in the first game of a process
QUICK_LOAD = 2.0  # seconds: an original that takes longer to load is not loaded again for that
LATER_BY = 90_000.0  # seconds, by which the second load's clocks are ahead: Kaggle plays on another day
HELD_TIME = re.compile(r"^(\w+) = (\d{10}(?:\.\d+)?)$", re.MULTILINE)  # of time.time()
RELOADED = 60  # positions that the second load is asked then
ENOUGH, USUAL_SECONDS = 100, 10.0  # so many are asked at least, then no more if usual moves have taken that long
COMPARE_SECONDS = 40.0  # of each side's moves; after that no further position is asked
CLOCKED = 0.05  # seconds a move: from there on the clock may decide how far an agent searches
LEAST_COMPARED = 100  # fewer positions are a note
FAILED_UNITS = 3  # in which an original fails, that it is asked again
FRESH, FEWEST_FRESH = 60, 10  # openings and other positions that have a process each
ROUNDS, LEAST_ROUNDS = 12, 3  # in which both sides are asked again where they differed
PREDICTOR = "connectx_core/predictor.py"  # draws moves by numpy, where the original's library has generators of its own
SIGMAS = 4.3  # one faithful file in 100,000 of an agent that draws is refused at a look, of which there are at most ten
NAMED_FACTS = 6  # facts that a report names


def units_by_kind(
    positions: int, geometries: tuple[Geometry, ...] = SAMPLE_GEOMETRIES
) -> dict[str, list[dict[str, Any]]]:
    """What an original is asked: games from both seats, openings, of which the shortest come first, and positions."""
    openings = [opening.as_json() for opening in opening_questions(range(4))]
    short, long = openings[:8], openings[8:]
    spread = [long[number * 101 % len(long)] for number in range(len(long))]  # 101 has no divisor in common with 287
    return {
        "games": game_units(range(FULL_GAMES)),
        "openings": short + spread,
        "positions": [question.as_json() for question in sample_questions(positions, geometries=geometries)],
    }


def game_units(numbers: Iterable[int]) -> list[dict[str, Any]]:
    """Whole games, those with an odd number from the second seat."""
    empty = comparison_question("game", []).as_json()
    return [empty | {"game": number} for number in numbers]


LOADS: tuple[dict[str, Any], ...] = ({"load_seed": 0}, {"load_seed": 1, "clocks_shifted": LATER_BY})  # of the file


class Query(NamedTuple):
    """A question, with the original's reply, and its unit: a game, or the question alone."""

    question: Question
    reply: dict[str, Any]
    unit: tuple[str, int]

    @property
    def is_legal(self) -> bool:
        return self.reply["column"] in self.question.legal

    @property
    def is_standard(self) -> bool:
        return all(self.question.config[name] == size for name, size in sizes_of(STANDARD).items())

    @property
    def place(self) -> str:
        """Where it is asked, in words."""
        config, plies = self.question.config, self.question.obs["step"]
        board = "" if self.is_standard else f"on {config['rows']}x{config['columns']}, "
        game = f"in game {self.unit[1] + 1}, " if self.unit[0] == "games" else ""
        return f"{game}{board}after {plies} plies"


class Draws:
    """What two sides play in rounds.

    Attributes:
        rounds: of each round, both sides' replies to the same questions, as texts; as many as there are of both.
        why: why a side did not answer.
    """

    def __init__(self) -> None:
        self.rounds: list[tuple[list[str], list[str]]] = []
        self.why = ""

    def statistic(self, swapped: int = 0) -> tuple[float, int]:
        """How far both sides are apart, with its degrees of freedom, if the sides of some rounds (bits) were swapped.

        Pearson's chi-square for each question (replies by sides), summed, with N - 1 in place of N: so its mean is
        that of its degrees of freedom in small samples, too.
        """
        total, freedom = 0.0, 0
        for number in range(max((len(first) for first, _ in self.rounds), default=0)):
            sides = Counter[str](), Counter[str]()
            for bit, pair in enumerate(self.rounds):
                if number < len(pair[0]):
                    for side, replies in enumerate(pair):
                        sides[side ^ (swapped >> bit & 1)][replies[number]] += 1
            size, chosen = sum(sides[0].values()), sides[0].keys() | sides[1].keys()
            apart = sum((sides[0][each] - sides[1][each]) ** 2 / (sides[0][each] + sides[1][each]) for each in chosen)
            total += apart * (1 - 1 / (2 * size))
            freedom += len(chosen) - 1
        return total, freedom

    @property
    def are_apart(self) -> bool:
        """Whether they differ more than chance explains; the cube root (Wilson and Hilferty 1931) makes it normal."""
        total, freedom = self.statistic()
        if not freedom:
            return False
        spread = 2 / (9 * freedom)
        return ((total / freedom) ** (1 / 3) - (1 - spread)) / sqrt(spread) > SIGMAS

    @property
    def are_apart_in_each_round(self) -> bool:
        """Whether no swap of the sides within rounds sets them further apart.

        Other programs slow all moves of a side's turn, which are then no independent draws: a round is.
        """
        apart, _ = self.statistic()
        return all(self.statistic(swapped)[0] < apart for swapped in range(1, 1 << (len(self.rounds) - 1)))


class Comparison:
    """An original beside its file, while both are asked.

    Args:
        judge: where ``file`` lies.
        at_nodes: whether the agent counts nodes in place of the clock, where it is given a budget of them.
    """

    def __init__(self, original: Original, judge: Sandbox, file: Path, at_nodes: bool, report: Report):
        self.original, self.judge, self.file, self.at_nodes, self.report = original, judge, file, at_nodes, report
        self.excuse = ""  # why moves may differ
        self.is_fresh = False  # whether each game and each other position has a process of its own

    def run(
        self, positions: int, geometries: tuple[Geometry, ...] = SAMPLE_GEOMETRIES
    ) -> tuple[SideAnswer, SideAnswer] | None:
        """Asks both, and reports whether they play alike; what both said, None if the report rejects them.

        ``positions``: how many are asked besides the openings and the games; ``geometries``: of these.
        """
        kinds = units_by_kind(positions, geometries)
        pace = 0.0 if self.at_nodes else self.report.figures.get("slowest_move_seconds", 0)
        most = sum(map(len, kinds.values())) + FULL_GAMES * 12
        usual = round(min(most, max(ENOUGH, USUAL_SECONDS / max(pace, 1e-9)), COMPARE_SECONDS / max(pace, 1e-9)))
        total = 2 * usual + 2 * min(usual, LATER * 12)
        about = f": at most about {pace * total:.0f} s, and as much again if moves differ" if pace * total > 10 else ""
        self.judge.runner.tell(f"comparing the file with {self.original.who}{about}")
        with self.original, progress(total, "move", "comparing") as bar:
            limits = {"stop_after": COMPARE_SECONDS, "enough": (ENOUGH, USUAL_SECONDS)}
            ours = self.original.ask(kinds, bar=bar, traced=self.original.traced, **limits)
            asked = [query_of(reply) for reply in ours.replies]
            if self._keeps_state(asked):
                self.is_fresh = True
                asked = self._ask_fresh(kinds, bar)
            if not self._is_answered(ours, asked):
                return None
            later, answers = self._ask_later_games(ours, bar), list[SideAnswer]()
            bar.total = 2 * len(asked) + (2 * len(later) or len(asked[:RELOADED]))
            for seed, part in enumerate((asked, later or asked[:RELOADED])):
                answers.append(self._ask_file(part, bar=bar, **LOADS[seed]))
                if answers[-1].why:
                    self.report.add(TOPIC, "reject", f"the built file {answers[-1].why}")
                elif differences(part, answers[-1]):
                    self._judge_differences(part, answers[-1], seed)
                if not self.report.accepted:
                    return None
        legal = [each for each in (*asked, *later) if each.is_legal]
        self.report.figures |= {"compared_positions": len(legal)}
        how = f" at {FEW_NODES} nodes a move" if self.at_nodes else ", by the clock" * is_slow(asked)
        cut = ". Its moves take long, so that not all were asked" if len(asked) < most - FULL_GAMES * 12 else ""
        cut = ". It keeps a state: each had a process of its own" if self.is_fresh else cut
        agree = f"the built file, loaded twice, and {self.original.who} agree on {describe_amount(legal)}{how}{cut}"
        if is_thin := len(legal) < min(LEAST_COMPARED, len(asked)):
            agree = f"only {len(legal)} positions were compared: {agree}"
        self.report.add(TOPIC, "note" if self.excuse or is_thin else "pass", self.excuse or agree)
        self._report_trace(ours)
        return ours, answers[0]

    def _report_trace(self, ours: SideAnswer) -> None:
        """Names the author's lines that never ran, and the errors that the agent catches by a handler for any."""
        count, of = ours.trace.get("count", 0), len(ours.replies)
        how = "no game and no position" if count == of else f"none of the {count} positions, of {of}, that were traced"
        pieces = dict[str, list[str]]()
        for file, each in ours.trace.get("never", {}).items():
            for first, last in each:
                (where, _, begin), end = (self.original.place_of(file, n).rpartition(", line ") for n in (first, last))
                if begin and end[2]:
                    pieces.setdefault(where, []).append(begin if begin == end[2] else f"{begin} to {end[2]}")
        if named := [f"{where}, {describe_lines(lines)}" for where, lines in pieces.items()]:
            more = f"; and in {len(named) - NAMED_FACTS} more places" if len(named) > NAMED_FACTS else ""
            self.report.add("never asked", "note", f"{'; '.join(named[:NAMED_FACTS])}{more}: {how} led there")
        self.report.add_caught(ours.trace, self.original.place_of)

    def _ask_later_games(self, ours: SideAnswer, bar: Any) -> list[Query]:
        """More games of the original, in a new process; [] if it takes long to load, or does not answer again."""
        if self.is_fresh or (ours.loaded and ours.loaded["load_seconds"] - ours.loaded["waited"] > QUICK_LOAD):
            return []
        limits = {"stop_after": COMPARE_SECONDS / 2, "enough": (ENOUGH / 2, USUAL_SECONDS / 2)}
        games = game_units(range(FULL_GAMES + 1, FULL_GAMES + 1 + LATER))
        more = self.original.ask({"games": games}, bar=bar, **limits)
        return [query_of(reply, FULL_GAMES) for reply in more.replies]

    def _ask_file(self, asked: Sequence[Query], **options: Any) -> SideAnswer:
        """What the built file replies to the same questions in the same order."""

        def ask(kinds: Kinds, **options: Any) -> SideAnswer:
            answer = self.judge.replies(self.file, "path", kinds, imports=self.original.imports, **options)
            return answer_of(answer)

        return self._in_processes(ask, asked, **options)

    def _as_loaded(self, asked: Sequence[Query], **options: Any) -> SideAnswer | None:
        """See ``Original.ask_as_loaded``."""
        return self._in_processes(partial(self.original.ask_as_loaded, self.judge), asked, **options)

    def _in_processes(self, ask: Callable[..., Any], asked: Sequence[Query], **options: Any) -> Any:
        """In one process; or in one for each game and each other position."""
        if not self.is_fresh:
            return ask(as_questions(asked), **options)
        units = [[*group] for _, group in groupby(asked, lambda each: each.unit)]
        answers = [ask(as_questions(unit), **options) for unit in units]
        if None in answers:
            return None
        why = next((answer.why for answer in answers if answer.why), "")
        return answers[0]._replace(replies=[reply for answer in answers for reply in answer.replies], why=why)

    def _keeps_state(self, asked: Sequence[Query]) -> bool:
        """Whether a position in which the original fails is one that it answers in a new process."""
        failed = [each for each in asked if not each.is_legal and each.is_standard]
        units = dict.fromkeys(each.unit for each in failed)
        for unit in [*units][:FAILED_UNITS]:
            again = self.original.ask(as_questions([each for each in asked if each.unit == unit]))
            if not again.why and all(reply["column"] is not None for reply in again.replies):
                return True
        return False

    def _ask_fresh(self, kinds: Kinds, bar: Any) -> list[Query]:
        """The original's replies in games and some other positions, each in a process of its own."""
        asked, started = list[Query](), time.perf_counter()
        for kind, most in (("games", FULL_GAMES), ("openings", FRESH), ("positions", FRESH)):
            for number, unit in enumerate(kinds[kind][:most]):
                if number < FEWEST_FRESH or time.perf_counter() - started < COMPARE_SECONDS:
                    replies = self.original.ask({kind: [unit]}, bar=bar).replies
                    asked += [query_of(reply, number) for reply in replies]
        return asked

    def _is_answered(self, ours: SideAnswer, asked: Sequence[Query]) -> bool:
        """Reports what the original does not answer, and what its guard repairs; whether it answers anything."""
        who, failed = self.original.who, [each for each in asked if not each.is_legal and each.is_standard]
        failed.sort(key=lambda each: each.unit[0] != "games")
        if ours.why:
            self.report.add(TOPIC, "reject", f"{who} {ours.why}")
        elif failed:
            reply, is_any = failed[0].reply, any(each.is_legal for each in asked)
            text = f"{who} {'raises' if reply['type'] == 'exception' else 'returns'} {reply['text']} {failed[0].place}"
            text += f", and gives no legal column in {len(failed)} of {len(asked)} positions"
            text += "; the guard plays there" if is_any else ""
            text = f"asked outside of a game, {text}" if failed[0].unit[0] != "games" and is_any else text
            self.report.add(TOPIC, "note" if is_any else "reject", text)
        for text in ours.changed:
            self.report.add("notebook", "note", text)
        for kind, text in sorted({each.reply["type"]: each.reply["text"] for each in asked if each.is_legal}.items()):
            if kind != "int":
                text = f"the agent returns {text}, of type {kind}. Kaggle accepts only a plain int, so that it would"
                text += " lose every game as it is, also here; the guard of the built file converts it"
                self.report.add("guard", "note", f"{text}. Better return int(column)")
        return self.report.accepted

    def _judge_differences(self, asked: Sequence[Query], theirs: SideAnswer, seed: int) -> None:
        """Rejects the file because of moves that differ, or finds what excuses it: chance, or the clock.

        ``seed``: of what is random as the file was loaded.
        """
        who, first = self.original.who, differences(asked, theirs)[0]
        reference = partial(self._in_processes, self.original.ask)
        if seed and self._goes_by_date(asked, theirs):
            return
        if (loaded := self._as_loaded(asked, load_seed=seed)) is not None:
            reference = partial(self._as_loaded, load_seed=seed)
            asked = [each._replace(reply=reply) for each, reply in zip(asked, loaded.replies, strict=False)]
        if not (differ := differences(asked, theirs)):
            what = "draws as it is loaded" if seed else "goes by the order of a set, or by hash() of texts"
            text = f"the agent {what}: it plays otherwise in another process, as {who} does, first {first.place}"
            self.excuse = self.excuse or f"{text}. With the same seeds, the built file plays as {who}"
            return
        a, b = differ[0].reply, theirs.replies[asked.index(differ[0])]
        text = f"the built file and {who} play otherwise in {len(differ)} of {len(asked)} positions, first "
        text += f"{differ[0].place}: {reply_text(a)}, and in the file {reply_text(b)}"
        self.report.figures["different_moves"] = len(differ)
        if not is_slow(asked) and not any(map(is_answered_otherwise, asked, reference(asked, draw=1).replies)):
            self.report.add(TOPIC, "reject", self._with_facts(text))
            return
        units = {each.unit for each in differ}
        sides = reference, partial(self._ask_file, load_seed=seed)
        unclear, has_own_draws = [each for each in asked if each.unit in units], self.judge.mentions(PREDICTOR)
        draws = play_rounds(unclear, sides, is_slow(asked), has_own_draws)
        text += f". Asked again {len(draws.rounds)} times"
        if draws.why:
            self.report.add(TOPIC, "reject", f"{text}, one side {draws.why}")
        elif draws.are_apart and (not is_slow(asked) or draws.are_apart_in_each_round):
            self.report.add(TOPIC, "reject", self._with_facts(f"{text}, each side keeps to its own moves"))
        alike = "they are no further apart than rounds are" if draws.are_apart else "both choose each column as often"
        text += f", {alike}: chance or the clock decides, and no fault of the build shows"
        self.excuse = self.excuse or text

    def _goes_by_date(self, asked: Sequence[Query], later: SideAnswer) -> bool:
        """Whether the second load plays otherwise because its clocks are ahead: a reject, or as its source does."""
        today, again = self._ask_file(asked, load_seed=1), self._ask_file(asked, **LOADS[1])
        columns = [[reply["column"] for reply in answer.replies] for answer in (later, again)]
        if today.why or differences(asked, today) or columns[0] != columns[1]:
            return False
        differ = differences(asked, later)
        text = f"a day later the built file plays otherwise in {len(differ)} of {len(asked)} positions, first "
        text += differ[0].place
        source = self._as_loaded(asked, **LOADS[1])
        if source is not None and [reply["column"] for reply in source.replies] == columns[0]:
            self.excuse = self.excuse or f"{text}, as {self.original.who} does: it goes by the date"
            return True
        held = HELD_TIME.findall(self.file.read_text(encoding="utf-8"))
        names = [name for name, value in held if abs(float(value) - time.time()) < LATER_BY]
        which = f"; a time of this notebook: {', '.join(names)}" if names else ""
        self.report.add(TOPIC, "reject", f"{text}{which}. Ask for the time inside the agent")
        return True

    def _with_facts(self, text: str) -> str:
        return ". ".join(filter(None, [text, describe_left_out(self.original), self.original.cure]))


def describe_left_out(original: Original) -> str:
    """What exists there and not in the file, in words; "" if nothing is known."""
    facts, more = original.lacks[:NAMED_FACTS], len(original.lacks) - NAMED_FACTS
    return f"Not in the file: {'; '.join(facts)}{f'; and {more} more' if more > 0 else ''}" if facts else ""


def query_of(reply: dict[str, Any], before: int = 0) -> Query:
    """What an original was asked, by its reply. ``before``: units of its kind in another process."""
    return Query(Question(reply["kind"], reply["obs"], reply["config"]), reply, (reply["kind"], before + reply["unit"]))


def as_questions(asked: Sequence[Query]) -> Kinds:
    """The same questions in the same order, whatever is replied."""
    return {"questions": [each.question.as_json() for each in asked]}


def is_answered_otherwise(asked: Query, reply: dict[str, Any]) -> bool:
    """Whether the other side replies otherwise, where the original replies with a legal column."""
    return asked.is_legal and asked.reply["column"] != reply["column"]


def differences(asked: Sequence[Query], theirs: SideAnswer) -> list[Query]:
    return [each for each, reply in zip(asked, theirs.replies, strict=False) if is_answered_otherwise(each, reply)]


def is_slow(asked: Sequence[Query]) -> bool:
    """Whether its moves take so long that the clock may decide them."""
    return median(each.reply["seconds"] for each in asked) >= CLOCKED


def describe_amount(asked: Sequence[Query]) -> str:
    """How much was asked, in words: "295 openings, 12 games, 120 positions"."""
    counts = Counter(kind for kind, _ in {each.unit for each in asked})
    return ", ".join(f"{counts[kind]} {kind}" for kind in ("openings", "games", "positions") if counts[kind])


def describe_lines(pieces: Sequence[str]) -> str:
    """ "line 3", "lines 5 to 7, 12"."""
    return f"line{'s' * (len(pieces) > 1 or ' ' in pieces[0])} {', '.join(pieces)}"


def reply_text(reply: dict[str, Any]) -> str:
    return f"{reply['text']:.100}" if reply["type"] != "exception" else f"raises {reply['text']:.100}"


def play_rounds(asked: Sequence[Query], sides: tuple[Any, Any], is_by_clock: bool, has_own_draws: bool) -> Draws:
    """Asks both sides in turn, in rounds, until their difference is plain or all rounds are done.

    Each round has new processes, since what a process keeps makes its answers alike; whole games are asked as such.
    With the same seeds, a faithful file draws the same, and only what draws from the system itself varies.

    Args:
        sides: each gives an ``SideAnswer`` to questions and a "draw".
        is_by_clock: whether the clock may decide: all rounds are needed then, of other seeds each.
        has_own_draws: whether one side draws in another way: of other seeds each.
    """
    draws, started = Draws(), time.perf_counter()
    with progress(ROUNDS, "round", "again") as bar:
        for number in range(1, ROUNDS + 1):
            draw = number if is_by_clock or has_own_draws else 0
            answers = [side(asked, draw=draw, stop_after=COMPARE_SECONDS / ROUNDS) for side in sides]
            first, second = ([reply["text"] for reply in answer.replies] for answer in answers)
            both, draws.why = min(len(first), len(second)), answers[0].why or answers[1].why
            draws.rounds.append((first[:both], second[:both]))
            bar.update()
            is_late = time.perf_counter() - started > COMPARE_SECONDS
            is_plain = not is_by_clock and number >= LEAST_ROUNDS and (draws.are_apart or is_late)
            if draws.why or is_plain:
                break
    return draws

"""The search for better numbers, by optuna: its sampler proposes, its pruner gives up, its storage keeps all of it.

Each trial is one candidate in an agent's process. Every process of every machine that works on a study opens the
storage itself, so one of them may be killed at any time: the others, or the next call, go on. A trial that a killed
process has left stays unfinished, and does not count. (optuna's heartbeat would mark it as failed; but its thread is no
daemon, and a Ctrl-C at the wrong moment leaves the process waiting for it, and the trial alive, for ever.)
"""

import contextlib
import os
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial
from sqlalchemy.exc import SQLAlchemyError

from connectx_toolkit.arena.match import Pool, Slot
from connectx_toolkit.system.console import ctrl_c_waits, progress, shell
from connectx_toolkit.system.files import check_folder, locked
from connectx_toolkit.training.options import check_same
from connectx_toolkit.tuning.candidates import place_for, spec_of
from connectx_toolkit.tuning.numbers import Number, Value, with_values
from connectx_toolkit.tuning.objective import Objective, Positions, Step

BUSY = 60.0  # seconds that a process waits for SQLite while others write
FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)
FEWEST_FOR_IMPORTANCE = 20  # candidates asked to the end
SETTINGS, FAULTS, SECONDS = "settings", "faults", "seconds"  # attributes of a study, of a trial, of the original's
FAULTY = 0.1  # an original that makes faults in so large a share of the positions is not tuned
FEWEST_IN_TIME = 10  # candidates that --minutes should leave time for
LONG = 20.0  # seconds of a first step that need no second one to tell how long a candidate takes


@dataclass(frozen=True, eq=False)
class Search:
    """What all trials of a study have in common. Plain values, so that another process can be sent them."""

    storage: str  # URL
    name: str  # of the study
    agent: Path
    text: str  # of the agent's file
    numbers: list[Number]
    objective: Objective
    seed: int
    trials: int

    @property
    def study(self) -> optuna.Study:
        """The study, in this process.

        Raises:
            OSError: the storage cannot be opened.
        """
        with told(self.storage):
            return _study(self.storage, self.name, self.seed, os.getpid())

    @property
    def finished(self) -> list[FrozenTrial]:
        """The candidates that were asked to the end or given up."""
        return self.study.get_trials(deepcopy=False, states=FINISHED)

    @property
    def whole(self) -> list[FrozenTrial]:
        """The candidates that were asked to the end."""
        return [trial for trial in self.finished if trial.state == TrialState.COMPLETE]

    def cost(self, slot: Slot, pressed: list[int], trial: Trial) -> float:
        """What a candidate costs.

        Args:
            pressed: from ``ctrl_c_waits``, which is looked at between the steps.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
            optuna.TrialPruned: it is worse than the best so far, or costs what it did before.
        """
        if known := next((other for other in self.finished if other.params == trial.params), None):
            if known.state == TrialState.PRUNED or known.value is None:
                raise optuna.TrialPruned
            return known.value
        costs, faults = list[float](), Counter[str]()
        for number, step in enumerate(self.steps(slot, self.values(trial))):
            if pressed:
                raise KeyboardInterrupt
            costs.append(step.cost)
            if step.faults:
                faults.update(step.faults)
                trial.set_user_attr(FAULTS, dict(faults))
            trial.report(step.cost, number)
            if trial.should_prune():
                raise optuna.TrialPruned
        return sum(costs) / len(costs)

    def steps(self, slot: Slot, values: Mapping[str, Value]) -> Iterator[Step]:
        """What the file with these numbers costs, step by step, asked in a process of its own."""
        with TemporaryDirectory(prefix="connectx-tune-") as folder:
            path = place_for(self.agent, Path(folder), self.agent.name)
            path.write_text(with_values(self.text, self.numbers, values), encoding="utf-8")
            spec = spec_of(path, self.agent.name)
            try:
                yield from self.objective.steps(slot, spec)
            finally:
                slot.release(spec)

    @property
    def original(self) -> dict[str, Value]:
        """The numbers that the file has."""
        return {number.name: number.value for number in self.numbers}

    def of_original(self) -> FrozenTrial | None:
        """The trial of the file's own numbers, once it is finished."""
        return next((trial for trial in self.whole if trial.params == self.original), None)

    def best(self) -> tuple[FrozenTrial, dict[str, Value]]:
        """The cheapest candidate of those asked to the end, and its numbers; the earliest of equals.

        Raises:
            ValueError: there is none.
        """
        if not (whole := self.whole):
            raise ValueError(f"{self.storage} has no finished candidate yet")
        found = min(whole, key=lambda trial: (trial.value, trial.number))
        return found, self.values(found)

    def favourites(self, count: int) -> list[dict[str, Value]]:
        """The numbers of so many candidates, those of ``best`` first: no costlier than the original, nor the same.

        Those that cost the same in each step as a cheaper one, or as the original, play like it. A trial without steps
        proposed what had been asked before.
        """
        known, limit = set[tuple[float, ...]]([()]), float("inf")
        if (before := self.of_original()) is not None and before.value is not None:
            known, limit = {(), tuple(before.intermediate_values.values())}, before.value
        found = list[dict[str, Value]]()
        for trial in sorted(self.whole, key=lambda trial: (trial.value, trial.number)):
            steps = tuple(trial.intermediate_values.values())
            if trial.value is not None and trial.value <= limit and steps not in known:
                known.add(steps)
                found.append(self.values(trial))
        return found[:count]

    def values(self, trial: Trial | FrozenTrial) -> dict[str, Value]:
        """A trial's numbers, as they are written into its file."""
        return {number.name: number.rounded(trial.params[number.name]) for number in self.numbers}

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """What optuna draws the numbers from."""
        return {number.name: _distribution(number) for number in self.numbers}

    def seconds_spent(self) -> float:
        """Seconds that all finished trials have taken; those of two at a time count twice."""
        own = (trial.user_attrs.get(SECONDS, 0.0) for trial in self.finished)
        return sum(own) + sum(trial.duration.total_seconds() for trial in self.finished if trial.duration)

    def importances(self) -> dict[str, float]:
        """How much of the costs' spread each number explains, from 0 to 1, in candidates asked to the end.

        {} if these are few. By PED-ANOVA (Watanabe et al., 2023), which needs no further package.
        """
        if len(self.whole) < FEWEST_FOR_IMPORTANCE:
            return {}
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        return optuna.importance.get_param_importances(self.study, evaluator=evaluator)


def _distribution(number: Number) -> BaseDistribution:
    if number.words:
        return CategoricalDistribution(number.words)
    if number.is_whole:
        return IntDistribution(int(number.low), int(number.high), number.log)
    return FloatDistribution(number.low, number.high, number.log)


def run_trial(slot: Slot, search: Search) -> None:
    """One trial of a study, unless it has enough."""
    with told(search.storage), ctrl_c_waits() as pressed:
        if len(search.finished) >= search.trials:
            return
        study = search.study
        trial = study.ask(search.distributions)
        try:
            study.tell(trial, search.cost(slot, pressed, trial))
        except optuna.TrialPruned:
            study.tell(trial, state=TrialState.PRUNED)


def seconds_of(slot: Slot, search: Search) -> float:
    """Seconds that the original takes to be asked to the end, as its second step tells: the first one also loads it."""
    seconds, started = 0.0, time.monotonic()
    for _ in islice(search.steps(slot, search.original), 2):
        seconds, started = time.monotonic() - started, time.monotonic()
        if seconds > LONG:
            break
    return seconds * search.objective.step_count


def ask_original(slot: Slot, search: Search) -> None:
    """The first trial: the file's own numbers, asked to the end.

    It is not given to optuna to propose: of two processes that begin at once, SQLite lets both take such a trial, and
    the second to end fails.

    Raises:
        ValueError: it makes faults in more than ``FAULTY`` of the positions.
        OSError: the storage cannot be written.
    """
    started, steps = time.monotonic(), [*search.steps(slot, search.original)]
    faults = Counter(fault for step in steps for fault in step.faults)
    if isinstance(search.objective, Positions) and faults.total() > FAULTY * len(search.objective.labels):
        raise ValueError(
            f"{search.agent} makes faults in {faults.total():,} of {len(search.objective.labels):,} positions "
            f"({', '.join(faults)}): {shell(f'evaluate exam {search.agent}')} shows them"
        )
    with told(search.storage):
        search.study.add_trial(
            create_trial(
                params=search.original,
                distributions=search.distributions,
                value=sum(step.cost for step in steps) / len(steps),
                intermediate_values={number: step.cost for number, step in enumerate(steps)},
                user_attrs={SECONDS: time.monotonic() - started} | ({FAULTS: dict(faults)} if faults else {}),
            )
        )


def search_on(search: Search, pool: Pool, concurrency: int, minutes: float) -> bool:
    """Runs trials until the study has enough, or has taken so many minutes (0: no limit). Ctrl-C ends it.

    Args:
        concurrency: trials at a time in the pool.
        minutes: those of earlier calls included, as ``Search.seconds_spent`` counts them.

    Returns:
        Whether it came to one of these ends.

    Raises:
        ValueError: that leaves no time for ``FEWEST_IN_TIME`` candidates.
        OSError: the storage cannot be written.
    """
    end = time.monotonic() + 60 * minutes - search.seconds_spent() / concurrency if minutes else float("inf")

    def goes_on() -> bool:
        with ctrl_c_waits():
            return len(search.finished) < search.trials and time.monotonic() < end

    def jobs() -> Iterator[Any]:
        while goes_on():
            yield search

    with progress(search.trials, "candidate", "tuning", done=min(len(search.finished), search.trials), delay=0) as bar:
        try:
            if search.of_original() is None:
                _, seconds = next(pool.each(seconds_of, [search]))
                if 60 * minutes * concurrency < FEWEST_IN_TIME * seconds and minutes:
                    raise ValueError(
                        f"a candidate takes about {seconds:.0f} s, so --minutes {minutes:g} leaves no time for "
                        f"{FEWEST_IN_TIME}: if {search.agent} plays by the clock, give --act-timeout 0.05 or limit its "
                        f"nodes; or ask less of each by --count"
                    )
                bar.write(f"a candidate takes up to {seconds:.0f} s, less if it is given up early")
                next(pool.each(ask_original, [search]))
            for _ in pool.each(run_trial, jobs()):
                with told(search.storage), ctrl_c_waits():
                    bar.set_postfix_str(f"best {search.best()[0].value:.3f}", refresh=False)
                    now = len(search.finished)
                bar.update(min(now, search.trials) - bar.n)
        except KeyboardInterrupt:
            return False
    return True


def begin(search: Search, settings: dict[str, Any], run: Path) -> None:
    """Makes the study, or sees that the one in the storage is this one.

    Args:
        settings: what the costs depend on: another study has others.
        run: the folder of the run, which messages name.

    Raises:
        ValueError: the storage holds a study of something else, or cannot be opened.
        OSError: it cannot be written.
    """
    check_folder(run / "study.db", is_made=True)
    with locked(run / "study.db"), told(search.storage):  # two processes may begin at once
        names = optuna.get_all_study_names(_storage(search.storage))
        study = search.study if search.name in names else None
        if study is None:
            study = optuna.create_study(storage=_storage(search.storage), study_name=search.name)
            study.set_user_attr(SETTINGS, settings)
        before = study.user_attrs.get(SETTINGS)
        if before is None:
            raise ValueError(
                f"{search.storage} holds a study {search.name} of something else: choose another --storage"
            )
        check_same(run, {"numbers": before["numbers"]}, {"numbers": settings["numbers"]})  # told before the file
        check_same(run, before, settings)


@lru_cache(maxsize=1)
def _study(url: str, name: str, seed: int, process: int) -> optuna.Study:
    """The study in a process: a fork must not use its parent's connection."""
    storage = _storage(url)
    number = len(optuna.load_study(study_name=name, storage=storage).get_trials(deepcopy=False))
    # Resumed, or beside others, it must not propose the same again.
    sampler = optuna.samplers.TPESampler(seed=hash((seed, number, process)) % 2**32, multivariate=True)
    return optuna.load_study(study_name=name, storage=storage, sampler=sampler, pruner=optuna.pruners.WilcoxonPruner())


def _storage(url: str) -> optuna.storages.RDBStorage:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    waiting = {"connect_args": {"timeout": BUSY}} if url.startswith("sqlite") else {}
    return optuna.storages.RDBStorage(url, engine_kwargs=waiting)


@contextlib.contextmanager
def told(storage: str) -> Iterator[None]:
    """Turns the errors of a storage into one of this system.

    Raises:
        OSError: the storage cannot be opened, read or written.
    """
    try:
        yield
    except (optuna.exceptions.StorageInternalError, SQLAlchemyError) as problem:
        reason = problem.__cause__ or problem
        words = " ".join(str(getattr(reason, "orig", None) or reason).split())
        raise OSError(f"{storage}: {words}; free some space, or name another place with --storage or --run") from None

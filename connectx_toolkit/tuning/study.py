"""Searches for better numbers with optuna, which proposes candidates, stops bad ones early and stores all of them.

A candidate is the agent's file with other numbers. It costs the points that it gives away in the same positions.
"""

import time
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import optuna
from optuna.trial import BaseTrial, FrozenTrial, Trial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from connectx_toolkit.arena.exam import Answer, Chunk, answers_in, chunks_of
from connectx_toolkit.arena.match import Pool, Slot
from connectx_toolkit.games.grades import NO_ANSWER, points_given_away
from connectx_toolkit.games.labelled import Labels
from connectx_toolkit.players.spec import AgentSpec
from connectx_toolkit.system.console import ctrl_c_waits, progress, shell
from connectx_toolkit.system.files import ROOT
from connectx_toolkit.tuning.numbers import Number, Value, with_values

OUR_PACKAGE = ROOT / "connectx_core"  # beside an agent in a checkout; elsewhere, numba would compile it again
STEP, MOVES_OF_A_GAME = 20, 21  # positions between two looks of the pruner; an agent's moves in a full game
FAULTY = 0.1  # an original that makes faults in so large a share of the positions is not tuned
FEWEST_IN_TIME = 10  # candidates that --minutes should leave time for


@dataclass(frozen=True)
class Study:
    """A search for better numbers of a file: whatever the costs depend on, its name depends on as well."""

    database: Path  # of optuna; other searches may be in it
    name: str
    agent: Path
    text: str  # of the agent's file
    numbers: list[Number]
    labels: Labels  # the positions
    seed: int

    @cached_property
    def study(self) -> optuna.Study:
        """All candidates so far."""
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.filterwarnings("ignore", ".*is experimental|Target and region")  # optuna's, of no use here
        url, pruner = f"sqlite:///{self.database.absolute()}", optuna.pruners.WilcoxonPruner()
        study = optuna.create_study(storage=url, study_name=self.name, load_if_exists=True, pruner=pruner)
        # Resumed, it must not propose the same again.
        study.sampler = optuna.samplers.TPESampler(seed=self.seed + len(study.trials), multivariate=True)
        return study

    def trials(self, states: tuple[TrialState, ...] = (TrialState.COMPLETE, TrialState.PRUNED)) -> list[FrozenTrial]:
        """The candidates that were asked to the end or given up."""
        return self.study.get_trials(deepcopy=False, states=states)

    def cost_of_original(self) -> float | None:
        """What the file's own numbers cost; None until they were asked."""
        original = {number.name: number.value for number in self.numbers}
        return next((trial.value for trial in self.trials((TrialState.COMPLETE,)) if trial.params == original), None)

    def values(self, trial: BaseTrial) -> dict[str, Value]:
        """A candidate's numbers as its file has them; of a new one, as optuna proposes them."""
        return {number.name: number.to_file(_propose_value(trial, number)) for number in self.numbers}

    def importances(self) -> dict[str, float]:
        """How much of the costs' spread each number explains, from 0 to 1, by PED-ANOVA."""
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()  # the default needs scikit-learn
        return optuna.importance.get_param_importances(self.study, evaluator=evaluator)

    def write_candidate(self, values: Mapping[str, Value], folder: Path, name: str) -> AgentSpec:
        """Writes a candidate into a folder, with links to what lies beside the original, which it may need.

        A folder of a call before is used again; nothing in it is removed.
        """
        beside = self.agent.absolute().parent
        place = folder.absolute() / (beside.name or "agent")  # a package may be imported by its name
        place.mkdir(parents=True, exist_ok=True)
        for entry in beside.iterdir():
            link = place / entry.name
            if entry.name not in (name, self.agent.name, "__pycache__") and entry != OUR_PACKAGE and not link.exists():
                link.symlink_to(entry)
        (place / name).write_text(with_values(self.text, self.numbers, values), encoding="utf-8")
        return AgentSpec("file", str(place / name), name)

    def run(self, pool: Pool, trials: int, minutes: float) -> None:
        """Asks candidates until there are so many, or until all together have taken so many minutes (0: no limit).

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; the candidates so far are kept.
            ValueError: the original makes too many faults, or leaves no time for ``FEWEST_IN_TIME`` candidates.
            OSError: the database cannot be read or written.
        """
        try:
            done, limit = self.trials(), 60 * minutes or float("inf")
            left = limit - sum(trial.duration.total_seconds() for trial in done if trial.duration)
            end = time.monotonic() + left
            if len(done) >= trials or left <= 0:
                return
            if self.cost_of_original() is None:
                self.study.enqueue_trial({number.name: number.value for number in self.numbers})

            def progress_words(count: int) -> str:
                spent = minutes - (end - time.monotonic()) / 60
                words = f"tuning: {spent:.1f} of {minutes:g} minutes, {count} of at most {trials} candidates"
                return words if minutes else "tuning"

            def show(*_: object) -> None:
                bar.set_description_str(progress_words(bar.n + 1), refresh=False)
                bar.update()

            bar = progress(None if minutes else trials, "candidate", progress_words(len(done)), done=len(done), delay=0)
            with TemporaryDirectory(prefix="connectx-tune-") as folder, bar, ctrl_c_waits() as pressed:
                cost = partial(self._cost, pool=pool, folder=Path(folder), pressed=pressed, limit=limit)
                rest, timeout = trials - len(done), left if minutes else None
                self.study.optimize(cost, rest, timeout, callbacks=[show])
        except (optuna.exceptions.StorageInternalError, SQLAlchemyError) as problem:
            reason = " ".join(str(getattr(problem.__cause__ or problem, "orig", problem)).split())
            raise OSError(f"{self.database}: {reason}; free some space, or name another folder with --run") from None

    def _cost(self, trial: Trial, pool: Pool, folder: Path, pressed: list[int], limit: float) -> float:
        """Points that a candidate gives away a move. Raises TrialPruned if they are surely more than the best one's."""
        values, is_first = self.values(trial), self.cost_of_original() is None
        if known := next((other for other in self.trials() if other.params == trial.params), None):
            if known.state == TrialState.PRUNED or known.value is None:
                raise optuna.TrialPruned
            return known.value
        spec = self.write_candidate(values, folder / str(trial.number), self.agent.name)
        given, faults, loaded = list[float](), Counter[str](), 0.0
        chunks = chunks_of(spec, self.labels, range(len(self.labels)), self.seed, STEP)
        for chunk, answers in pool.each(_answers, chunks):
            if pressed:
                raise KeyboardInterrupt
            columns = np.array([answer.column for answer in answers])
            costs = points_given_away(self.labels.take(np.array(chunk.rows)), columns)
            given += costs.tolist()
            faults.update(answer.fault for answer in answers if answer.fault)
            trial.report(float(costs.mean()), chunk.rows[0] // STEP)
            if is_first:
                loaded = loaded or time.monotonic()  # with the first answers
                self._refuse(faults, len(given), (time.monotonic() - loaded) / max(len(given) - STEP, 1), limit)
            elif trial.should_prune():
                raise optuna.TrialPruned
        return sum(given) / len(given)

    def _refuse(self, faults: Counter[str], asked: int, seconds: float, limit: float) -> None:
        """Raises ValueError if the original makes too many faults, or takes too many seconds a move for the limit."""
        agent, whole = self.agent, seconds * len(self.labels)
        if faults.total() > FAULTY * len(self.labels):
            what = f"makes faults in {faults.total()} of {asked} positions ({', '.join(faults)})"
            raise ValueError(f"{agent} {what}: {shell(f'evaluate exam {agent}')} shows them")
        if FEWEST_IN_TIME * whole > limit:
            less = f"if {agent} plays by the clock, give --act-timeout 0.05; or ask less of each by --count"
            few = f"--minutes {limit / 60:g} leaves no time for {FEWEST_IN_TIME}"
            raise ValueError(f"a candidate takes about {whole:.0f} s, so {few}: {less}")


def _propose_value(trial: BaseTrial, number: Number) -> Value:
    if number.words:
        return trial.suggest_categorical(number.name, number.words)  # type: ignore[return-value] # no None
    if number.is_whole:
        return trial.suggest_int(number.name, int(number.low), int(number.high), log=number.log)
    return trial.suggest_float(number.name, number.low, number.high, log=number.log)


def _answers(slot: Slot, chunk: Chunk) -> list[Answer]:
    """A candidate's answers. Too slow for a game of 21 moves is a fault: else a search would grow ever deeper."""
    for spec in {spec for spec, _ in slot.players} - {chunk.spec}:
        slot.release(spec)
    longest = slot.setup.rules.config["actTimeout"] + slot.setup.rules.overage / MOVES_OF_A_GAME
    return [
        answer if answer.fault or answer.seconds <= longest else answer._replace(column=NO_ANSWER, fault="too slow")
        for answer in answers_in(slot, chunk)
    ]

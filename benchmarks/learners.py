"""The learners and agents of the published sources: each source's protocol and figure, and ours.

python -m benchmarks.learners [--seeds N] [--learners NAME ...] [--folder PATH]

The agents of Kaggle's course play random by its protocol, half of the games in either seat, in Kaggle's environment.
Prints one Markdown table; a figure that falls short is a row like the others. Each seed's result is kept in the folder:
an interrupted run goes on with the next, and a later one prints it again. Seconds are processor time of training only,
in one thread.
"""

import argparse
import contextlib
import io
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from benchmarks.machine import commit, head, record
from connectx_core.torch_form import Network
from connectx_toolkit.system.files import write_whole
from connectx_toolkit.training.learners import actor_critic, menace, policy_gradient, ppo, value
from connectx_toolkit.training.runs import FINISHED, is_finished
from evaluate import get_win_percentages

STRONG_POLICY = Path("agents/weights/strong_policy.bin")
HEADS = ("method", "source's protocol", "source", "ours: mean (range)", "seeds", "seconds")


class Figure(NamedTuple):
    """One row of the table."""

    protocol: str
    reported: str  # by the source
    form: str = "{:.0f}"  # format of our number


class Measured(NamedTuple):
    """What one seed gave: a number for each figure, and processor time of training in seconds."""

    figures: list[float]
    seconds: float


class Learner(NamedTuple):
    """A system of the published sources: its rows, and ``measure(seed, folder)``, which trains in the folder."""

    source: str
    figures: tuple[Figure, ...]
    measure: Callable[[int, Path], Measured]


def train_anew(train: Callable[[Any], Any], config: Any) -> Any:
    """What ``train`` returns; a run that is finished, but of which no result was kept, is done again."""
    (config.run / FINISHED).unlink(missing_ok=True)
    return train(config)


def policy_gradient_config(seed: int, folder: Path) -> policy_gradient.Config:
    """Of the training run of a seed, in ``folder``."""
    output = folder / "weights" / "policy_gradient.bin"
    return policy_gradient.Config(seed=seed, run=folder / "policy-gradient", output=output)


def measure_policy_gradient(seed: int, folder: Path) -> Measured:
    """Running reward at the end, when the chapter's stop was met, and mean results of the trained policy."""
    run = train_anew(policy_gradient.train, policy_gradient_config(seed, folder))
    games = policy_gradient.MATCH_GAMES
    results = policy_gradient.matches(run.network, run.strong, games, seed)
    means = [(results[how][0] - results[how][2]) / games for how in ("sampled", "greedy")]
    return Measured([run.running_reward, run.games_to_stop, *means], run.seconds)


def measure_value(seed: int, folder: Path) -> Measured:
    """Wins and losses of the value agent in 100 games; and the same if the network also evaluates finished games."""
    policy = policy_gradient_config(seed, folder)
    if not is_finished(policy):
        policy_gradient.train(policy)
    games, output = policy.run / "games.bin", folder / "weights" / "value_greedy.bin"
    config = value.Config(seed=seed, games=games, policy=policy.output, run=folder / "value", output=output)
    run = train_anew(value.train, config)
    opponent = Network.from_bytes(STRONG_POLICY.read_bytes())
    alone = value.play_match(run.network, opponent, 100, np.random.default_rng(seed), rules=False)
    return Measured([run.result[0], run.result[2], alone[0], alone[2]], run.seconds)


def rounds_of(*arguments: Any, **options: Any) -> Any:
    """``get_win_percentages`` without what it prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        return get_win_percentages(*arguments, **options)


def course_middle(obs, config):
    """The course's agent_middle, which keeps playing the middle column when it is full."""
    return config.columns // 2


def measure_course(seed: int, folder: Path) -> Measured:
    """Percent won v random by the agents of the course, and the invalid plays of its agent_middle."""
    agents: list[tuple[Any, int]] = [("leftmost", 100), (course_middle, 100), ("one_step", 100), ("n_step", 50)]
    left, middle, *steps = (rounds_of(agent, "random", games, seed=seed) for agent, games in agents)
    shares = [100 * rounds.percentages[0] for rounds in (left, middle, *steps)]
    return Measured([shares[0], shares[1], float(middle.forfeits[0]), *shares[2:]], 0.0)


def measure_ppo(seed: int, folder: Path) -> Measured:
    """Wins in 100 games v random, and in the 50 of either seat, after the course's 60,000 steps."""
    run = train_anew(ppo.train, ppo.Config(seed=seed, protocol=ppo.COURSE, run=folder / "ppo-course"))
    return Measured([sum(run.won), *run.won], run.seconds)


def measure_actor_critic(seed: int, folder: Path) -> Measured:
    """Tic-tac-toe: running reward v minimax; wins and losses v the three-step agent, 100 games a seat."""
    run = train_anew(actor_critic.train, actor_critic.Config(seed=seed, run=folder / "actor-critic"))
    seats = actor_critic.against_lookahead(run)
    return Measured([run.running_reward, *(float(seat[index]) for seat in seats for index in (0, 2))], run.seconds)


def measure_menace(seed: int, folder: Path) -> Measured:
    """Nim: the first player's wins in percent, of 10,000 games each, for the pairs that the source tells of."""
    population, results = train_anew(menace.train, menace.Config(seed=seed, run=folder / "menace"))
    wins = {
        (first, second): 100 * float(results[row, column, 0])
        for row, first in enumerate(menace.PLAYERS)
        for column, second in enumerate(menace.PLAYERS)
    }
    pairs = [(menace.KEEP, menace.KEEP), (menace.UNTRAINED, menace.KEEP), (menace.UNTRAINED, menace.DROP)]
    most = max(wins[first, menace.IDEAL] for first in menace.PLAYERS)
    return Measured([*(wins[pair] for pair in pairs), most], population.seconds)


LEARNERS = {
    "course": Learner(
        "agents of Kaggle's course",
        (
            Figure("leftmost: % won of 100 games v random", "82"),
            Figure("middle, as in the course: the same", "65"),
            Figure("its invalid plays", "35"),
            Figure("one_step: % won of 100 games v random", "96"),
            Figure("n_step (3): % won of 50 games v random", "100"),
        ),
        measure_course,
    ),
    "actor-critic": Learner(
        "actor-critic, tic-tac-toe",
        (
            Figure("running reward v minimax at the end; source over 100,000 games, ours 10,000", "-0.005", "{:.4f}"),
            Figure("v the three-step agent, moving first: wins of 100", "72"),
            Figure("losses of these", "0"),
            Figure("moving second: wins of 100", "9"),
            Figure("losses of these", "0"),
        ),
        measure_actor_critic,
    ),
    "menace": Learner(
        "Menace, Nim with 9 tokens",
        (
            Figure(
                "10,000 games of training, 10,000 of test: % that the first player wins, both keep", "0.23", "{:.2f}"
            ),
            Figure("off the main line: the first, untrained, wins against a second that keeps", "", "{:.2f}"),
            Figure("the same, against a second that drops", "more", "{:.2f}"),
            Figure("the most that one of the six wins, moving first, against the ideal one", "0", "{:.2f}"),
        ),
        measure_menace,
    ),
    "policy-gradient": Learner(
        "policy gradient, Connect Four",
        (
            Figure(
                "running reward v a strong policy agent, from random weights; ours over 1,000 games, not 100",
                "0.90",
                "{:.2f}",
            ),
            Figure("games until it first was 0.90 over 100 games; 0: never", ""),
            Figure("mean result of 2,000 new games, both sides sampling", "", "{:.2f}"),
            Figure("mean result of 2,000 new games, ours greedy", "", "{:.2f}"),
        ),
        measure_policy_gradient,
    ),
    "value": Learner(
        "value network, greedy one-ply",
        (
            Figure("wins in 100 games v the strong policy agent, learned from the games of the row above", "67"),
            Figure("losses in the same games", "33"),
            Figure("wins, finished games judged by the net, too", "67"),
            Figure("losses in the same games", "33"),
        ),
        measure_value,
    ),
    "ppo-course": Learner(
        "PPO, last lesson of Kaggle's course",
        (
            Figure("60,000 steps v random, always first; wins in 100 games v random, 50 a seat", "68"),
            Figure("of the 50 moving first", ""),
            Figure("of the 50 moving second", ""),
        ),
        measure_ppo,
    ),
}


def measure_seed(name: str, seed: int, folder: Path) -> dict[str, Any]:
    """The result of one seed, with commit and date; read from the folder if it is there."""
    path = folder / f"{name}.json"
    if not path.exists():
        how = {"commit": commit(), "date": datetime.now(UTC).date().isoformat()}
        figures = LEARNERS[name].measure(seed, folder)._asdict()
        write_whole(path, (json.dumps(figures | how) + "\n").encode())
    return json.loads(path.read_text(encoding="utf-8"))


def summary(numbers: Sequence[float], form: str) -> str:
    """Mean and range: ``81 (78 to 85)``; of one number, itself."""
    lowest, middle, highest = (form.format(number) for number in (min(numbers), mean(numbers), max(numbers)))
    return middle if lowest == highest else f"{middle} ({lowest} to {highest})"


def rows_of(name: str, results: Sequence[dict[str, Any]]) -> list[list[str]]:
    """A learner's rows of the table; ``results`` are those of the seeds 1, 2, ..."""
    source, figures, _ = LEARNERS[name]
    seeds = "1" if len(results) == 1 else f"1 to {len(results)}"
    seconds = summary([result["seconds"] for result in results], "{:.0f}")
    numbers = zip(*(result["figures"] for result in results), strict=True)
    return [
        [source, figure.protocol, figure.reported, summary(ours, figure.form), seeds, seconds]
        for figure, ours in zip(figures, numbers, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="runs of each learner, with seeds 1, 2, ... (default 3)")
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS), help="default: all")
    parser.add_argument(
        "--folder", type=Path, default=Path("runs/learners"), help="folder for results (default %(default)s)"
    )
    options = parser.parse_args()
    rows, lines = list[list[str]](), list[str]()
    for name in options.learners:
        results = [measure_seed(name, seed, options.folder / f"seed-{seed}") for seed in range(1, options.seeds + 1)]
        rows += rows_of(name, results)
        lines += sorted({f"{name}: measured at commit {each['commit']}, {each['date']}" for each in results})
    head(seeds=options.seeds)
    print("\n".join(f"| {' | '.join(row)} |" for row in (HEADS, ["---"] * len(HEADS), *rows)))
    print("\n".join(lines))
    record("learners", len(rows), "figures beside those of their sources", rows=rows, measured=lines)


if __name__ == "__main__":
    main()

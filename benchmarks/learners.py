"""The agents and learners of the published sources: reported results, and ours over several seeds.

python -m benchmarks.learners [--seeds N] [--learners NAME ...] [--folder PATH]

Learners are trained from scratch; the agents of Kaggle's course play random by its protocol, half of the games in
either seat, in Kaggle's environment. Prints one Markdown table. Finished results stay in the folder, so that an
interrupted run resumes and a later one prints them again. Seconds are processor time of training only, in one thread.
"""

import argparse
import contextlib
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from benchmarks.machine import head, record
from connectx.nets.network import PlainNetwork, masked_argmax
from connectx.nets.torch_form import Network
from connectx.position import Position
from connectx_toolkit.console.files import write_whole
from connectx_toolkit.training.methods import actor_critic, menace, policy_gradient, ppo, value
from connectx_toolkit.training.support.manifest import is_finished
from evaluate import get_win_percentages

STRONG_POLICY = Path("agents/weights/strong_policy.bin")


class Figure(NamedTuple):
    """One row of the table."""

    protocol: str
    reported: str
    form: str = "{:.0f}"  # format of our number


class Learner(NamedTuple):
    """A system of the published sources: its rows, and how one seed is measured.

    ``measure(seed, folder)`` trains, resuming from the folder, and returns a number for each figure and the seconds of
    training.
    """

    source: str
    figures: tuple[Figure, ...]
    measure: Callable[[int, Path], tuple[list[float], float]]


def policy_gradient_run(seed: int, folder: Path) -> policy_gradient.Run:
    """The finished training run of a seed, in ``folder``."""
    output = folder / "weights" / "policy_gradient.bin"
    config = policy_gradient.Config(seed=seed, run=folder / "policy-gradient", output=output)
    return policy_gradient.Run(config) if is_finished(config) else policy_gradient.train(config)


def measure_policy_gradient(seed: int, folder: Path) -> tuple[list[float], float]:
    """Running reward at the end, and games until then."""
    run = policy_gradient_run(seed, folder)
    return [run.running_reward, run.games], run.seconds


def measure_value(seed: int, folder: Path) -> tuple[list[float], float]:
    """Wins and losses of the value agent in 100 games; and the same if the network also evaluates finished games."""
    policy_gradient_run(seed, folder)
    games, weights = folder / "policy-gradient" / "games.bin", folder / "weights"
    policy, output = weights / "policy_gradient.bin", weights / "value_greedy.bin"
    config = value.Config(seed=seed, games=games, policy=policy, run=folder / "value", output=output)
    trained = value.train(config)
    opponent = Network.from_bytes(STRONG_POLICY.read_bytes())
    alone = value.match(trained.network, opponent, 100, np.random.default_rng(seed), rules=False)
    return [trained.result[0], trained.result[2], alone[0], alone[2]], trained.seconds


def deciding(network: PlainNetwork) -> Callable:
    """An agent that plays the network's most likely legal column."""

    def agent(obs, config):
        position = Position.from_observation(obs, config)
        return masked_argmax(network.judge(position)["policy"], position)

    return agent


def percent_won(network: PlainNetwork, opponent: str, seed: int) -> float:
    """Wins in 100 games by the course's protocol."""
    rounds = rounds_of(deciding(network), opponent, 100, isolate=False, seed=seed)
    return 100 * rounds.percentages[0]


def rounds_of(*arguments: Any, **options: Any) -> Any:
    """``get_win_percentages`` without what it prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        return get_win_percentages(*arguments, **options)


def course_middle(obs, config):
    """The course's agent_middle, which keeps playing the middle column when it is full."""
    return config.columns // 2


def measure_course(seed: int, folder: Path) -> tuple[list[float], float]:
    """Percent won v random by the agents of the course, and the invalid plays of its agent_middle."""
    agents: list[tuple[Any, int]] = [("leftmost", 100), (course_middle, 100), ("one_step", 100), ("n_step", 50)]
    left, middle, *steps = (rounds_of(agent, "random", games, seed=seed) for agent, games in agents)
    shares = [100 * rounds.percentages[0] for rounds in (left, middle, *steps)]
    return [shares[0], shares[1], float(middle.forfeits[0]), *shares[2:]], 0.0


def measure_ppo_course(seed: int, folder: Path) -> tuple[list[float], float]:
    """Wins in 100 games v random, after the course's 60,000 steps without action masks."""
    config = ppo.course(seed=seed, run=folder / "ppo-course", output=folder / "weights" / "ppo_course.bin")
    trained = ppo.train(config)
    return [percent_won(trained.newest, "random", seed)], trained.seconds


def measure_actor_critic(seed: int, folder: Path) -> tuple[list[float], float]:
    """Tic-tac-toe: running reward v minimax; wins and losses v the three-step agent, 100 games a seat."""
    place = folder / "actor-critic"
    run = actor_critic.train(actor_critic.Config(seed=seed, run=place, output=place / "network.bin"))
    seats = actor_critic.against_lookahead(run)
    return [run.running_reward, *(float(seat[index]) for seat in seats for index in (0, 2))], run.seconds


def measure_menace(seed: int, folder: Path) -> tuple[list[float], float]:
    """Nim: the first player's wins in percent, of 10,000 games each, for the most informative pairs."""
    config = menace.Config(seed=seed, run=folder / "menace")
    population, results = menace.train(config)
    names = [("keep v keep",) * 2, ("random", "keep v keep"), ("random", "drop v drop")]
    cells = [results[menace.COLUMNS.index(first), menace.COLUMNS.index(second), 0] for first, second in names]
    against_ideal = results[:, menace.COLUMNS.index("ideal"), 0].max()
    return [100 * float(share) for share in (*cells, against_ideal)], population.seconds


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
            Figure("running reward v minimax at the end, over 10,000 games", "-0.005", "{:.4f}"),
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
            Figure("off the main line (first at random): second keeps, learned from one that keeps", "", "{:.2f}"),
            Figure("the same: second drops, learned from one that drops", "more", "{:.2f}"),
            Figure("the most that any first player wins against the ideal second", "0", "{:.2f}"),
        ),
        measure_menace,
    ),
    "policy-gradient": Learner(
        "policy gradient, Connect Four",
        (
            Figure("100-game running reward v a strong policy agent at the end", "0.90", "{:.2f}"),
            Figure("games until then", ""),
        ),
        measure_policy_gradient,
    ),
    "value": Learner(
        "value network, greedy one-ply",
        (
            Figure("wins in 100 games v the strong policy agent, which samples", "67"),
            Figure("losses in the same games", "33"),
            Figure("wins, finished games judged by the net, too", "67"),
            Figure("losses in the same games", "33"),
        ),
        measure_value,
    ),
    "ppo-course": Learner(
        "PPO, 60,000 steps",
        (Figure("wins in 100 games v random", "68"),),
        measure_ppo_course,
    ),
}


def measured(name: str, seed: int, folder: Path) -> tuple[list[float], float]:
    """The figures of one seed and its seconds of training; read from the folder if they are there."""
    path = folder / f"{name}.json"
    if not path.exists():
        figures, seconds = LEARNERS[name].measure(seed, folder)
        write_whole(path, (json.dumps({"figures": figures, "seconds": seconds}) + "\n").encode())
    found = json.loads(path.read_text(encoding="utf-8"))
    return found["figures"], found["seconds"]


def summary(numbers: Sequence[float], form: str) -> str:
    """Mean and range: ``81 (78 to 85)``."""
    return f"{form.format(mean(numbers))} ({form.format(min(numbers))} to {form.format(max(numbers))})"


def table(results: dict[str, list[tuple[list[float], float]]]) -> list[str]:
    """The lines of the table. ``results``: for each learner, (figures, seconds) of each seed."""
    lines = ["| source | protocol | reported | ours: mean (range) | training, s |", "|---|---|---|---|---|"]
    for name, seeds in results.items():
        seconds = summary([seconds for _, seconds in seeds], "{:.0f}")
        for index, figure in enumerate(LEARNERS[name].figures):
            ours = summary([figures[index] for figures, _ in seeds], figure.form)
            source = LEARNERS[name].source if index == 0 else ""
            lines.append(f"| {source} | {figure.protocol} | {figure.reported} | {ours} | {'' if index else seconds} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, help="runs of each learner, with seeds 1, 2, ... (default 5)")
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS), help="default: all")
    parser.add_argument(
        "--folder", type=Path, default=Path("runs/learners"), help="folder for results (default %(default)s)"
    )
    options = parser.parse_args()
    results = {
        name: [measured(name, seed, options.folder / f"seed-{seed}") for seed in range(1, options.seeds + 1)]
        for name in options.learners
    }
    head(seeds=options.seeds)
    print("\n".join(table(results)))
    for name, seeds in results.items():
        learner = LEARNERS[name]
        numbers = list(zip(*(figures for figures, _ in seeds), strict=True))
        rows = [
            [figure.protocol, figure.reported, summary(found, figure.form)]
            for figure, found in zip(learner.figures, numbers, strict=True)
        ]
        first = learner.figures[0]
        record(
            f"learner-{name}",
            round(mean(numbers[0]), 4),
            first.protocol,
            first.reported or None,
            source=learner.source,
            rows=rows,
            seconds=round(mean(seconds for _, seconds in seeds)),
        )


if __name__ == "__main__":
    main()

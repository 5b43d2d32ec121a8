"""What benchmarks write down, and what they compare."""

import argparse
import json
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import (
    environments,
    learn_from_games,
    learners,
    machine,
    recipes,
    second_seat,
    solver,
    verdicts,
)
from benchmarks.machine import record
from connectx.encoding import encode_many
from connectx.position import NO_MOVE, STANDARD, Position
from connectx.solver import Solver
from connectx_toolkit.api import exam
from connectx_toolkit.games.labelled import Labels, concatenated, write_labels
from connectx_toolkit.players.spec import resolve
from connectx_toolkit.system.files import WEIGHTS
from connectx_toolkit.training.makers import opponent_pool
from connectx_toolkit.training.makers.labels import TRAINING, opening_labels, splits_of

POSITION = Position.from_moves([3] * 6 + [2] * 6 + [4] * 6, STANDARD)


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def test_a_figure_is_kept_with_how_it_was_measured(results, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/benchmarks/solver.py", "--file", "a file"])
    record("speed", 0.16, "of bitbully's time", 1, nodes={"End-Easy": 13.2})
    kept = json.loads((results / "speed.json").read_text())
    assert kept["command"] == "python -m benchmarks.solver --file 'a file'"
    assert (kept["figure"], kept["anchor"], kept["nodes"]) == (0.16, 1, {"End-Easy": 13.2})
    assert {"unit", "commit", "machine", "versions", "date"} <= kept.keys() and "numpy" in kept["versions"]


def test_true_scores_pass_and_false_ones_do_not(results):
    scores = [value and value.low for value in Solver(STANDARD).scores(POSITION)]
    best = max(score for score in scores if score is not None)
    assert solver.check("scores", [(POSITION, best, scores), (POSITION, best, None)], 2) == 0
    assert json.loads((results / "scores.json").read_text())["moves"] == 4
    wrong = [score and score + 1 for score in scores]
    assert solver.check("scores", [(POSITION, best, wrong)], 1) == 1
    assert solver.check("scores", [(POSITION, best + 1, None)], 1) == 1


def test_a_file_of_positions_is_refused_in_one_line(tmp_path, capsys):
    path = tmp_path / "set.txt"
    path.write_text("33 2\n8 1\n")
    assert solver.main(["--file", str(path)]) == 2
    assert f"{path}, line 2: expected 'moves score', not '8 1'" in capsys.readouterr().err


def test_games_are_known_again_by_what_the_players_are(tmp_path):
    """Not by their names: a file that changes is another player."""
    path = tmp_path / "agent.py"
    path.write_text("def agent(obs, config):\n    return 3\n")
    before = second_seat.contents_of(resolve(str(path)))
    assert second_seat.contents_of(resolve(str(path))) == before
    path.write_text("def agent(obs, config):\n    return 2\n")
    assert second_seat.contents_of(resolve(str(path))) != before
    one, other = (
        second_seat.contents_of(resolve(opponent_pool.agent_of(player))) for player in opponent_pool.HELD_OUT[:2]
    )
    assert one != other


def test_intervals_over_players_stand_beside_those_over_games(results, monkeypatch, capsys):
    """Of all, without the two that give most, and without kin; by hand: four gains of 0, 0, 0, 50 in 100."""
    gains = {"policy medium 0.5": 0.0, "puct large 10": 0.5, "leaf 10": 0.0, "mcts 3000": 0.0}
    monkeypatch.setattr(second_seat, "resolve", lambda player: player)
    monkeypatch.setattr(opponent_pool, "agent_of", lambda player: player.name)
    on: Any = SimpleNamespace(label="now.py")
    off: Any = SimpleNamespace(label="before.py")
    monkeypatch.setattr(second_seat, "played", lambda side, name, _: ([gains[name] * (side is on)] * 50, 0))
    options = argparse.Namespace(half="held-out", opponents=list(gains), starts="empty")
    second_seat.compare(options, (on, off))
    record = json.loads((results / "second-seat-empty.json").read_text())
    assert record["over_players"]["all"] == "12.5% +-39.8%"  # 3.182 * 25 / 2
    assert record["interval"] == "12.5% +- 3.0%" and record["over_players"]["without kin"].startswith("25.0% +-")
    assert "without kin, over players" in capsys.readouterr().out
    kin = {"minimax 8", "minimax 13", "leaf 10", "leaf 14", "mcts 3000", "mcts 50000", "exact 0.05"}
    assert kin == second_seat.KIN


def learner(asked: list[int], *figures: learners.Figure) -> learners.Learner:
    """Of these figures; the seed is each of them."""

    def measure(seed, folder):
        asked.append(seed)
        return learners.Measured([float(seed)] * len(figures), 10.0 * seed, {"table": seed})

    return learners.Learner("a source", figures, measure)


def test_the_table_of_learners(results, tmp_path, monkeypatch, capsys):
    """A row a figure: the source's protocol and figure, mean and range of ours. A second run measures nothing again.

    Rows of learners that were not asked for stay, and what is stopped goes on at the seed where it was.
    """
    asked: list[int] = []
    figures = learners.Figure("100 games", "68"), learners.Figure("more", "", "{:.2f}")
    monkeypatch.setattr(learners, "LEARNERS", {"one": learner(asked, *figures), "two": learner(asked, figures[0])})
    monkeypatch.setattr(learners, "RESULTS", results)
    command = ["learners", "--folder", str(tmp_path / "runs"), "--seeds", "3", "--learners"]
    monkeypatch.setattr(sys, "argv", [*command, "one"])
    learners.main()
    printed = capsys.readouterr().out
    assert "| a source | 100 games | 68 | 2 (1 to 3) | 1 to 3 | 20 (10 to 30) |" in printed
    assert "| a source | more |  | 2.00 (1.00 to 3.00) | 1 to 3 |" in printed and asked == [1, 2, 3]
    (tmp_path / "runs" / "seed-2" / "one.json").unlink()
    learners.main()
    assert asked == [1, 2, 3, 2]
    monkeypatch.setattr(sys, "argv", [*command[:3], "--seeds", "1", "--learners", "two"])
    learners.main()
    kept = json.loads((results / "learners.json").read_text())["methods"]
    assert [name for name in kept if kept[name]["table"] == 1] == ["one", "two"] and len(kept["one"]["rows"]) == 2
    assert kept["two"]["rows"] == [["a source", "100 games", "68", "1", "1", "10"]]
    assert {"commit", "machine", "date"} <= kept["two"].keys()


def test_a_finished_run_can_be_asked_again(tmp_path):
    """Its folder says no longer that it is finished."""
    (tmp_path / learners.FINISHED).write_bytes(b"")
    config = SimpleNamespace(run=tmp_path)
    assert learners.trained(lambda given: (given, (tmp_path / learners.FINISHED).exists()), config) == (config, False)


def labels_of(position: Position) -> Labels:
    """Of one position; every legal move has the same score."""
    legal = [0 if column in position.legal_columns() else NO_MOVE for column in range(7)]
    return Labels(np.array([position.position]), np.array([position.mask]), np.array([legal], np.int8))


def test_the_network_alone_has_no_rules_to_help_it():
    """One forward pass for the position after each move: it does not know a line from any other position."""
    position, network = Position.from_moves([3, 0, 3, 0, 3, 0], STANDARD), recipes.value_search.network
    labels = labels_of(position)
    logits = recipes.judged_alone(network, labels)[0]
    for column in range(7):
        after = position.play(column)
        stones, mask = (np.array([part]) for part in (after.position, after.mask))
        own = network.forward(encode_many(stones, mask, STANDARD, network.architecture.encoding))["move"][0, 0]
        assert 0 <= logits[column] - own <= 56 + 1e-3  # what the chances of its score add


def test_the_passes_of_the_network_are_counted():
    """One a move for the network alone; two views of what forced replies lead to; some ten for an evaluation."""
    won, empty = (labels_of(Position.from_moves(moves, STANDARD)) for moves in ([3, 0, 3, 0, 3, 0], []))
    assert [recipes.row_of(player, won, 0)["passes"] for player in ("network", "policy")] == [7, 0]
    assert [recipes.row_of(player, empty, 0)["passes"] for player in ("network", "policy")] == [7, 14]
    assert [recipes.row_of("policy", labels, 0)["unasked"] for labels in (won, empty)] == [100, 0]
    assert 60 * 5 < recipes.row_of("search", empty, 60)["passes"] < 60 * 15


def test_the_exam_says_of_policy_what_the_recipes_say(tmp_path, monkeypatch):
    """The agent in a process of its own, position by position, and the benchmark's player, all at once."""
    monkeypatch.chdir(tmp_path)
    found = exam("policy", count=60)
    (sheet,) = found.sheets
    columns = recipes.columns_of("policy", recipes.value_search.network, sheet.labels, 0)
    assert (columns == sheet.columns[0]).all()
    whole, critical, *_ = found.document()["tables"]["moves by exact score"]
    printed = [whole["good moves"], critical["good moves"], whole["perfect moves"]]
    said = recipes.shares(sheet.labels, columns)
    assert [round(100 * share, 2) for share in printed] == list(said.values()) and 80 < said["perfect"] < 100


def test_what_the_network_learnt_is_left_out(results, tmp_path, monkeypatch, capsys):
    """Openings that are not held out, and the labels of the file that the manifest beside the network names.

    None of what remains, nor anything that its moves lead to, has been seen; the record counts it.
    """
    deep, other = labels_of(POSITION), labels_of(Position.from_moves([2] * 6 + [4] * 6 + [3] * 6, STANDARD))
    openings = opening_labels().take(np.arange(0, 38_203, 20))
    held_out = openings.take(np.flatnonzero(splits_of(openings.positions, openings.masks) != TRAINING))
    drawn = concatenated([openings, deep, labels_of(Position.from_moves([0, 1, 2, 3, 4, 5, 6, 0], STANDARD))])
    monkeypatch.setattr(recipes, "labels_for", lambda name, options: drawn)
    weights, file = tmp_path / "net.bin", tmp_path / "my.labels"
    weights.write_bytes((WEIGHTS / "policy.bin").read_bytes())
    write_labels(file, concatenated([deep, other]), {})
    monkeypatch.setattr(sys, "argv", ["recipes", "--only", "random", "--players", "policy", "--weights", str(weights)])
    found = {}
    for command in ("python train.py distill", f"python train.py distill --labels {file}"):
        (tmp_path / "manifest.json").write_text(json.dumps({"net.bin": {"command": command}}))
        recipes.main()
        record = json.loads((results / "network-random.json").read_text())
        assert record["drawn"] == len(drawn) and record["learnt"] in capsys.readouterr().out
        found[command.endswith("labels")] = record["positions"]
    assert 2 <= found[False] <= 2 + len(held_out) and found[False] - found[True] == 1
    file.unlink()
    with pytest.raises(SystemExit) as stop:
        recipes.main()
    assert stop.value.code == 2 and f"no labels in {file}" in capsys.readouterr().err


def test_ppo_learns_at_equal_settings(results, monkeypatch, capsys):
    """Each factor is beside the course's wrapper with as many steps between updates, batches and epochs."""
    asked: list[tuple[int, dict]] = []

    def learning(env, steps, policy, settings):
        asked.append((getattr(env, "num_envs", 1), settings))
        return 1.0 + len(asked)

    monkeypatch.setattr(environments, "learning", learning)
    monkeypatch.setattr(environments, "alone", lambda env, steps: 1.0)
    monkeypatch.setattr(environments, "CourseWrapper", SimpleNamespace)
    monkeypatch.setattr(sys, "argv", ["environments"])
    environments.main()
    course, one, many, large_course, large_many = asked[::2]
    assert course == one == (1, {}) and many == (500, {"n_steps": 4})  # PPO's default is 2,048 steps
    assert large_course[1]["n_steps"] == 500 * large_many[1]["n_steps"] == 2000
    assert large_course[1] | {"n_steps": 4} == large_many[1]
    assert "games, batches of 2000 | 1 (1.0x) | 10 (1.2x) | 11 (1.2x) |" in capsys.readouterr().out
    record = json.loads((results / "environments.json").read_text())
    assert (record["figure"], record["anchor"]) == (6, 2)


def test_plain_intervals_are_wrong_when_looked_at_often_and_ours_are_not():
    rng, shares = np.random.default_rng(1), np.array(verdicts.SHARP)
    wrong = [sum(play(shares, rng).stronger for _ in range(200)) for play in verdicts.LOOKS.values()]
    assert wrong[0] <= 20 and wrong[1] >= 60


def test_openings_that_decide_call_nobody_stronger():
    """Of such users a verdict on pairs alone tells an agent to be stronger in more than half of the matches."""
    rng, play = np.random.default_rng(1), verdicts.variants(24)
    seen = [play(np.array(verdicts.SHARP), rng) for _ in range(20)]
    assert sum(user.stronger for user in seen) <= 1 and sum(user.missed for user in seen) <= 1


def test_a_report_without_games_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["learn_from_games", "report", "--folder", str(tmp_path)])
    with pytest.raises(SystemExit) as stop:
        learn_from_games.main()
    assert stop.value.code == 2 and f"{tmp_path / 'before-learning.sqlite'} is missing" in capsys.readouterr().err


def test_a_run_has_one_commit(monkeypatch):
    """The records that it writes are no change of the source."""
    machine.commit.cache_clear()
    found = iter([SimpleNamespace(stdout="abc1234\n"), SimpleNamespace(stdout="abc1234-dirty\n")])
    monkeypatch.setattr(machine.subprocess, "run", lambda *_, **__: next(found))
    assert [machine.commit(), machine.commit()] == ["abc1234", "abc1234"]
    machine.commit.cache_clear()

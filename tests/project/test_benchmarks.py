"""What benchmarks write down, and what they compare."""

import json
import re
import sys

import numpy as np
import pytest

from benchmarks import faults, learners, machine, recipes, solver
from benchmarks.machine import record
from connectx_core.encoding import encode_many
from connectx_core.position import NO_MOVE, STANDARD, Position
from connectx_core.solver import Solver
from connectx_toolkit.api import exam
from connectx_toolkit.games.labelled import Labels, concatenate_labels, write_labels
from connectx_toolkit.system.files import WEIGHTS
from connectx_toolkit.training.makers.labels import LABELS
from connectx_toolkit.training.options import digest_of

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
    assert solver.compare_scores("scores", [(POSITION, best, scores), (POSITION, best, None)], 2) == 0
    assert json.loads((results / "scores.json").read_text())["moves"] == 4
    wrong = [score and score + 1 for score in scores]
    assert solver.compare_scores("scores", [(POSITION, best, wrong)], 1) == 1
    assert solver.compare_scores("scores", [(POSITION, best + 1, None)], 1) == 1


def learner(asked: list[int], *figures: learners.Figure) -> learners.Learner:
    """Of these figures; the seed is each of them."""

    def measure(seed, folder):
        asked.append(seed)
        return learners.Measured([float(seed)] * len(figures), 10.0 * seed)

    return learners.Learner("a source", figures, measure)


def test_the_table_of_learners(results, tmp_path, monkeypatch, capsys):
    """A row a figure: the source's protocol and figure, mean and range of ours. A second run measures nothing again.

    What is stopped goes on at the seed where it was, and what was measured earlier keeps its commit.
    """
    asked: list[int] = []
    figures = learners.Figure("100 games", "68"), learners.Figure("more", "", "{:.2f}")
    monkeypatch.setattr(learners, "LEARNERS", {"one": learner(asked, *figures), "two": learner(asked, figures[0])})
    monkeypatch.setattr(learners, "commit", lambda: f"commit{len(asked)}")
    command = ["learners", "--folder", str(tmp_path / "runs"), "--seeds", "3", "--learners"]
    monkeypatch.setattr(sys, "argv", [*command, "one"])
    learners.main()
    printed = capsys.readouterr().out
    assert "| a source | 100 games | 68 | 2 (1 to 3) | 1 to 3 | 20 (10 to 30) |" in printed
    assert "| a source | more |  | 2.00 (1.00 to 3.00) | 1 to 3 |" in printed and asked == [1, 2, 3]
    (tmp_path / "runs" / "seed-2" / "one.json").unlink()
    learners.main()
    assert asked == [1, 2, 3, 2]
    told = re.findall(r"one: measured at commit (\w+)", capsys.readouterr().out)
    assert told == ["commit0", "commit2", "commit3"]
    monkeypatch.setattr(sys, "argv", [*command[:3], "--seeds", "1", "--learners", "two"])
    learners.main()
    assert "| a source | 100 games | 68 | 1 | 1 | 10 |" in capsys.readouterr().out


def labels_of(position: Position) -> Labels:
    """Of one position; every legal move has the same score."""
    legal = [0 if column in position.legal_columns() else NO_MOVE for column in range(7)]
    return Labels(np.array([position.position]), np.array([position.mask]), np.array([legal], np.int8))


def test_the_network_alone_has_no_rules_to_help_it():
    """One forward pass for the position after each move: it does not know a line from any other position."""
    position, network = Position.from_moves([3, 0, 3, 0, 3, 0], STANDARD), recipes.value_search.network
    labels = labels_of(position)
    logits = recipes.evaluated_alone(network, labels)[0]
    for column in range(7):
        after = position.play(column)
        stones, mask = (np.array([part]) for part in (after.position, after.mask))
        own = network.forward(encode_many(stones, mask, STANDARD, network.architecture.encoding))["move"][0, 0]
        assert 0 <= logits[column] - own <= 56 + 1e-3  # what the chances of its score add


def test_the_passes_of_the_network_are_counted():
    """One a move for the network alone; two views of what forced replies lead to; some ten for an evaluation."""
    won, empty = (labels_of(Position.from_moves(moves, STANDARD)) for moves in ([3, 0, 3, 0, 3, 0], []))
    assert [recipes.measure_player(player, won, 0)["passes"] for player in ("network", "policy")] == [7, 0]
    assert [recipes.measure_player(player, empty, 0)["passes"] for player in ("network", "policy")] == [7, 14]
    assert 60 * 5 < recipes.measure_player("search", empty, 60)["passes"] < 60 * 15


def test_the_exam_says_of_policy_what_the_recipes_say(tmp_path, monkeypatch):
    """The agent in a process of its own, position by position, and the benchmark's player, all at once."""
    monkeypatch.chdir(tmp_path)
    found = exam("policy", count=60)
    (sheet,) = found.sheets
    columns = recipes.columns_of("policy", recipes.value_search.network, sheet.labels, 0)
    assert (columns == sheet.columns[0]).all()
    whole, critical, *_ = found.document()["tables"]["moves by exact score"]
    said = {name: share for name, (share, *_) in recipes.shares(sheet.labels, columns).items()}
    printed = {"perfect": whole["perfect moves"], "good": whole["good moves"], "critical": critical["good moves"]}
    assert {name: round(100 * share, 2) for name, share in printed.items()} == said and 80 < said["perfect"] < 100


def test_what_the_network_learnt_is_left_out():
    """From 8 stones on, mirror images too; and positions in which no move can be wrong. Openings stay."""
    games = ["33333322222244", "44444422222233", "3", "3333332222224", "4444446666663"]
    positions = [Position.from_moves(map(int, moves), STANDARD) for moves in games]
    labels = concatenate_labels([labels_of(position) for position in positions])
    differ = labels.scores.copy()
    differ[np.arange(5), labels.legal.argmax(1)] = 1
    drawn = Labels(labels.positions, labels.masks, differ)
    learnt = drawn.take(np.flatnonzero(np.isin(drawn.masks, [positions[0].mask, positions[2].mask])))
    kept = recipes.leave_out_learnt(drawn, learnt)
    assert len(kept) == 4 and positions[0].mask not in kept.masks and positions[2].mask in kept.masks
    assert not len(recipes.leave_out_learnt(labels, learnt))


def test_what_the_shipped_network_learnt_is_known(monkeypatch):
    """Its command names no labels: it read those that today's command reads without a name."""
    monkeypatch.setattr(recipes, "read_labels", {LABELS: labels_of(POSITION)}.get)
    learnt, source = recipes.training_labels(WEIGHTS / "policy.bin")
    assert POSITION.mask in learnt.masks
    assert f"openings and {LABELS}; before that, openings; what else " in source


def test_labels_that_the_manifest_names_have_to_be_those(tmp_path, monkeypatch, capsys):
    weights, file = tmp_path / "net.bin", tmp_path / "my.labels"
    weights.write_bytes((WEIGHTS / "policy.bin").read_bytes())
    write_labels(file, labels_of(POSITION), {})
    entry = {"command": f"python train.py network --labels {file}", "inputs": {"labels": digest_of(file)}}
    (tmp_path / "manifest.json").write_text(json.dumps({"net.bin": entry}))
    assert POSITION.mask in recipes.training_labels(weights)[0].masks
    file.unlink()
    monkeypatch.setattr(sys, "argv", ["recipes", "--only", "random", "--weights", str(weights)])
    with pytest.raises(SystemExit) as stop:
        recipes.main()
    assert stop.value.code == 2 and f"did not learn from {file} as it is now" in capsys.readouterr().err


PLAYED = """
LIMIT = 7


def play(board: list[int] | None, free):
    count: int | None = len(free) + 1
    if board and count < LIMIT:
        free.clear()
    return not free
"""


def test_a_fault_stands_in_place_of_one_piece(tmp_path):
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "züge.py").write_text(PLAYED, encoding="utf-8")
    drawn = faults.draw(tmp_path, 1, 60)
    assert drawn == faults.draw(tmp_path, 1, 60) != faults.draw(tmp_path, 2, 60)
    assert sorted({fault.line for fault in drawn}) == [6, 7, 8, 9]  # neither annotations nor what is outside
    every = {(fault.old, fault.new) for fault in faults.faults_in(tmp_path, tmp_path / "agents" / "züge.py")}
    assert every == {
        ("len(free) + 1", "(len(free) - 1)"),
        ("1", "2"),
        ("board and count < LIMIT", "(not (board and count < LIMIT))"),
        ("board and count < LIMIT", "(board or count < LIMIT)"),
        ("count < LIMIT", "(count <= LIMIT)"),
        ("free.clear()", "pass"),
        ("return not free", "return None"),
        ("not free", "(free)"),
    }
    for fault in drawn:
        assert fault.planted_in(PLAYED) == PLAYED.replace(fault.old, fault.new)

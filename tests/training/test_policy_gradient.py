"""The seeds' own road: imitation, REINFORCE, the value net from its games; each learns, and refuses."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from connectx_core.network import softmax
from connectx_core.position import STANDARD, Position
from connectx_core.torch_form import Network
from connectx_core.weights import unpack
from connectx_toolkit.cli import train
from connectx_toolkit.players.graded import at_depth
from connectx_toolkit.system.files import read_as
from connectx_toolkit.training.learners import imitation, policy_gradient, value
from connectx_toolkit.training.learners.policy_gradient import (
    clipped_loss,
    games_until,
    scale_advantages,
    updated_baseline,
)
from connectx_toolkit.training.learners.value import DRAW_OUTPUT, LOSS_OUTPUT, WIN_OUTPUT, value_player
from connectx_toolkit.training.learners.whole_games import ILLEGAL, Choices, recording_player, returns_of
from connectx_toolkit.training.options import option
from connectx_toolkit.training.supervised import Examples, Fit, FitOptions, Parts, logits_of, small_network
from connectx_toolkit.training.vector_games import (
    ConnectX,
    PlayedGames,
    alternating,
    bitboards,
    play_games,
    random_player,
    replay,
)
from tests.conftest import observe
from tests.oracle import board_after
from tests.oracle import has_line as oracle_has_line

pytestmark = pytest.mark.slow


def choices(games, turns) -> Choices:
    count = len(games)
    boards, actions = np.zeros((count, 6, 7), np.int8), np.zeros(count, np.int64)
    return Choices(boards, actions, np.array(games), np.array(turns))


def test_returns_are_the_chapters():
    """Three games: won, with an illegal choice before its second move; lost after one move; drawn."""
    chosen = choices([0, 1, 0, 0, 2, 0], [0, 0, ILLEGAL, 1, 0, 2])
    assert returns_of(chosen, np.array([1, -1, 0]), 0.5).tolist() == [0.25, -1, -1, 0.5, 0, 1]


def test_the_clipped_loss_lets_a_choice_go_once_it_has_moved_enough():
    """Before that its gradient is that of REINFORCE, advantage * (chance - 1 of the chosen action), averaged over the
    rows; beyond it only a choice that moved the wrong way counts. The entropy of even chances is the largest.
    """
    logits, actions = torch.tensor([[0.5, -0.5, 0.0]] * 2, requires_grad=True), torch.tensor([0, 2])
    gains, now = torch.tensor([0.7, -1.2]), logits.detach().log_softmax(1)[[0, 1], [0, 2]]
    (found,) = torch.autograd.grad(clipped_loss(logits, actions, gains, now, 0.0), logits)
    expected = gains[:, None] * (logits.detach().softmax(1) - torch.eye(3)[[0, 2]]) / 2
    assert torch.allclose(found, expected, atol=1e-6)
    even = clipped_loss(torch.zeros(1, 4), torch.tensor([0]), torch.zeros(1), torch.tensor([-np.log(4)]), 1.0)
    assert float(even) == pytest.approx(-np.log(4))
    moved = torch.tensor([1.3, 0.7]).log()  # as far as the advantages want, and beyond the bound
    (found,) = torch.autograd.grad(clipped_loss(logits, actions, gains, now - moved, 0.0), logits)
    assert (found == 0).all()
    (found,) = torch.autograd.grad(clipped_loss(logits, actions, gains, now + moved, 0.0), logits)
    assert (found.abs().sum(1) > 0.01).all()


def test_the_baseline_moves_towards_a_batch():
    """By a twentieth of the way to the mean return at each ply; where the batch has no move, it stays."""
    found = updated_baseline(np.array([0.5, 0.2, -1.0]), np.array([0, 0, 2]), np.array([1.0, 0.0, 1.0]))
    assert found.tolist() == pytest.approx([0.5, 0.2, -0.9])


def test_games_until_a_running_reward():
    results = np.array([1, -1, 1, 1, 0, 1, 1, 1], np.int8)
    assert games_until(results, 0.75, 4) == 6 and games_until(results, 0.5, 4) == 4
    assert games_until(results, 1, 4) == games_until(results, 0, 9) == 0


def test_the_learner_pays_for_full_columns():
    """A policy that wants column 0 only: its illegal tries are kept, and a legal move is played in their place."""
    rows, games = list[Choices](), ConnectX(20, STANDARD)
    wants_0 = lambda boards: np.tile([50.0, 0, 0, 0, 0, 0, 0], (len(boards), 1))  # noqa: E731
    learner = recording_player(wants_0, rows, np.random.default_rng(1))
    for _ in range(8):
        going = np.flatnonzero(~games.done)
        if len(going):
            games.play(learner(games, going), going)
    kept = Choices(*map(np.concatenate, zip(*rows, strict=True)))
    illegal = kept.turns == ILLEGAL
    assert illegal.any() and (kept.actions[illegal] == 0).all() and (kept.boards[illegal, 0, 0] != 0).all()
    legal = np.flatnonzero(~illegal)
    assert (kept.boards[legal, 0, kept.actions[legal]] == 0).all()


def test_the_teacher_is_minimax_at_its_depth(tmp_path):
    """Every label is the column of the agent of that name. Games last to their end, and random moves part them."""
    config = imitation.Config(depth=4, games=12, run=tmp_path)
    (boards, answers), owners = imitation.play_teacher_games(config)
    agent, positions = at_depth(4), zip(*bitboards(boards, STANDARD), strict=True)
    for (stones, mask), answer in zip(positions, answers, strict=True):
        assert agent(*observe(Position(int(stones), int(mask), STANDARD))) == answer
    assert np.bincount(owners).min() > 6 and len({board.tobytes() for board in boards}) > 200


def test_examples_tell_the_result_for_the_side_to_move():
    rng, games = np.random.default_rng(4), ConnectX(40, STANDARD)
    played = play_games(games, (random_player(rng), random_player(rng)), alternating(40, 10))
    moves = played.pad_moves(42)
    boards, classes = value.examples(value.Recorded(moves, played.leads, np.zeros(40, np.int64)))
    lengths = (played.moves >= 0).sum(1)
    of_learner = (lengths + played.leads) // 2
    assert len(boards) == of_learner.sum()
    game = int(np.flatnonzero(played.outcomes() == 1)[0])
    final = board_after(6, 7, played.moves[game, : lengths[game]].tolist())
    mover = 1 + lengths[game] % 2
    seen = [[cell and (1 if cell == mover else -1) for cell in row] for row in final]
    found = [classes[i] for i in range(len(boards)) if boards[i].tolist() == seen]
    assert oracle_has_line(final, 3 - mover, 4) and found and set(found) == {LOSS_OUTPUT}
    drawn = played.winner == 0
    assert (classes == DRAW_OUTPUT).sum() == of_learner[drawn].sum()
    assert (classes == WIN_OUTPUT).sum() == of_learner[played.outcomes() == -1].sum()


def test_further_games_explore_and_teach_from_there_on(road):
    """One move of each is random, the others are the players'; what came before it teaches nothing."""
    rng = np.random.default_rng(8)
    plies = np.repeat([0, 3, 6, 60], 50)
    always = value.exploring(lambda games, which: np.full(len(which), 3), plies, rng)
    games = ConnectX(200, STANDARD)
    games.play(always(games, np.arange(200)))
    first = games.stones[:, 5].argmax(1)
    assert set(first[:50]) == set(range(7)) and set(first[50:]) == {3}
    strong = Network.from_bytes((road / "weights" / "strong.bin").read_bytes())
    recorded = value.further_games(60, strong, strong, rng)
    lengths = (recorded.moves >= 0).sum(1)
    assert (recorded.starts < lengths).all() and len(set(recorded.starts)) > 5
    stones = np.count_nonzero(value.examples(recorded).boards, axis=(1, 2))
    expected = [
        ply + 1
        for length, lead, start in zip(lengths, recorded.leads, recorded.starts, strict=True)
        for ply in range(start, length)
        if (ply % 2 == 0) == lead
    ]
    assert sorted(stones) == sorted(expected)


def test_value_player_is_greedy():
    """It picks, of all legal moves, the one whose board the judge calls most lost for the other side."""
    rng = np.random.default_rng(5)
    weights = rng.normal(size=(42, 3))
    judge = lambda boards: boards.reshape(len(boards), -1) @ weights  # noqa: E731
    games = ConnectX(30, STANDARD)
    for _ in range(7):
        games.play(random_player(rng)(games, np.arange(30)))
        games.reset(np.flatnonzero(games.done))
    which = np.array([3, 7, 11])
    actions = value_player(judge, rules=False)(games, which)
    for game, action in zip(which, actions, strict=True):
        worth = {}
        for column in np.flatnonzero(games.legal()[game]):
            child = games.take(np.array([game]))
            child.play(np.array([column]))
            chances = np.exp(judge(child.boards())[0])
            worth[column] = (chances[0] - chances[2]) / chances.sum()
        assert worth[action] == pytest.approx(max(worth.values()))


def test_value_player_takes_wins_by_the_rules():
    """Whatever the judge says, unless the rules are left to it."""
    games = ConnectX(1, STANDARD)
    for column in (0, 6, 0, 6, 0, 6):
        games.play(np.array([column]))
    blind = lambda boards: np.zeros((len(boards), 3)) + [0, 0, 9] * (boards[:, 2, 0] != 0)[:, None]  # noqa: E731
    assert value_player(blind)(games, np.array([0])).tolist() == [0]
    assert value_player(blind, rules=False)(games, np.array([0])).tolist() != [0]


@dataclass
class FitConfig(FitOptions):
    METHOD = "fit"

    run: Path = option(Path("runs/fit"), "its folder")


def test_a_fit_learns_mirror_images(tmp_path):
    """From stones on the left alone it learns which column the only stone is in, on the right as well."""
    boards = np.zeros((6, 6, 7), np.int8)
    columns = np.array([0, 1, 2, 4, 5, 6])
    boards[np.arange(6), 5, columns] = 1
    left, right = (Examples(boards[part], columns[part]) for part in (slice(0, 3), slice(3, 6)))
    config = FitConfig(100, batch=32, learning_rate=1e-2, run=tmp_path)
    network = small_network("policy", 7, 8, 32, seed=1)
    fit = Fit(config, network, Parts(left, right, left), mirrored=lambda answers: 6 - answers)
    assert fit.accuracy().new < 1
    for _ in range(100):
        fit.update()
    assert fit.accuracy() == (1, 1)


@pytest.fixture(scope="module")
def road(tmp_path_factory) -> Path:
    """A folder with everything that three tiny training runs make."""
    folder = tmp_path_factory.mktemp("road")
    strong, weights = str(folder / "weights" / "strong.bin"), folder / "weights"
    tiny = ["--channels", "8", "--hidden", "32"]
    where = ["--run", str(folder / "imitate"), "--output", strong]
    assert train.main(["imitate", "--games", "60", "--depth", "1", "--steps", "60", *tiny, *where]) == 0
    where = ["--run", str(folder / "pg"), "--output", str(weights / "pg.bin"), "--opponent", strong]
    assert train.main(["policy-gradient", "--games", "400", "--batch", "40", *where]) == 0
    where = ["--run", str(folder / "value"), "--output", str(weights / "value.bin"), "--opponent", strong]
    games = ["--games", str(folder / "pg" / "games.bin"), "--further", "200"]
    where += ["--policy", str(weights / "pg.bin")]
    assert train.main(["value", "--steps", "60", *tiny, *games, *where]) == 0
    return folder


def test_the_road_from_end_to_end(road):
    """Weights, manifest, games and curves are there and agree with each other."""
    entries = json.loads((road / "weights" / "manifest.json").read_text())
    assert {name: entry["command"].split()[2] for name, entry in entries.items()} == {
        "strong.bin": "imitate",
        "pg.bin": "policy-gradient",
        "value.bin": "value",
    }
    assert sum(entries["value.bin"]["v_strong_policy"]) == 100
    assert [sum(counts) for counts in entries["pg.bin"]["v_strong_policy"].values()] == [2000, 2000]
    assert entries["pg.bin"]["start"] == "nothing"
    moves = value.read_games(road / "pg" / "games.bin")
    assert moves.shape == (400, 42)
    results = unpack((road / "pg" / "games.bin").read_bytes())[0]["results"]
    games = ConnectX(400, STANDARD)
    for ply in range(42):
        which = np.flatnonzero(moves[:, ply] >= 0)
        games.play(moves[which, ply], which)
    assert games.done.all() and (games.winner * np.where(alternating(400, 10), 1, -1) == results).all()
    for name in ("imitate", "pg", "value"):
        assert (road / name / "curve.png").read_bytes()[:4] == b"\x89PNG"


def test_imitate_tells_both_accuracies(tmp_path, capsys):
    """Of new boards and of known ones, as counted here board by board."""
    options = ["--depth", "1", "--games", "200", "--steps", "30", "--channels", "4", "--hidden", "8"]
    assert train.main(["imitate", *options, "--run", str(tmp_path), "--output", str(tmp_path / "net.bin")]) == 0
    config = imitation.Config(depth=1, games=200, run=tmp_path)
    examples, owners = imitation.play_teacher_games(config)
    held_out, learnt = (examples.take(np.flatnonzero((owners % 21 == 0) == out)) for out in (True, False))
    known = {board.tobytes() for board in learnt.boards} | {board[:, ::-1].tobytes() for board in learnt.boards}
    is_known = np.array([board.tobytes() in known for board in held_out.boards])
    network = read_as(Network.from_bytes, tmp_path / "net.bin")
    right = logits_of(network)(held_out.boards).argmax(1) == held_out.answers
    facts = json.loads((tmp_path / "manifest.json").read_text())["net.bin"]["agreement"]
    wanted = {"new_boards": right[~is_known].mean(), "known_boards": right[is_known].mean()}
    assert facts == pytest.approx(wanted, abs=0.01)  # the file's numbers are of 16 bits
    score = capsys.readouterr().out.splitlines()[-1]
    assert "% of new boards, " in score and "% of boards that it learnt; wrote" in score


def config_of(road: Path, **changes) -> policy_gradient.Config:
    config = policy_gradient.Config(games=400, batch=40, opponent=road / "weights" / "strong.bin", run=road / "pg")
    return replace(config, **changes)


def test_the_baseline_is_that_of_illegal_tries_too(road, tmp_path, monkeypatch):
    """It is the mean of legal moves alone. Where a game is lost, an illegal try gains nothing on the legal move: else
    the policy would learn to make it.
    """
    advantages: list[np.ndarray] = []

    def watched(found: np.ndarray) -> np.ndarray:
        advantages.append(found)
        return scale_advantages(found)

    monkeypatch.setattr(policy_gradient, "scale_advantages", watched)
    run = policy_gradient.ReinforceRun(config_of(road, run=tmp_path))
    rows, results = choices([0, 0, 1, 1], [0, ILLEGAL, ILLEGAL, 0]), np.array([1, -1], np.int8)
    rows.boards[2:, 5, :4] = 1, -1, 1, -1
    for _ in range(100):
        run.learn(rows, results)
    assert run.baseline[[0, 4]].tolist() == pytest.approx([1, -1], abs=1e-2) and run.baseline[1] == 0
    run.baseline[4] = 0.6
    run.learn(rows, results)
    assert advantages[0].tolist() == [1, -1, -1, -1]
    assert advantages[-1].tolist() == pytest.approx([0, -2, -1.6, -1.6], abs=1e-2)


def test_gradients_are_clipped(road, tmp_path, monkeypatch):
    """Plain descent at rate 1 steps by the gradient, or by as much of it as is allowed."""
    steps = []
    for clip in (float("inf"), 0.01):
        monkeypatch.setattr(policy_gradient, "CLIP", clip)
        run: Any = policy_gradient.ReinforceRun(config_of(road, run=tmp_path, learning_rate=1.0))
        run.optimizer = torch.optim.SGD(run.network.parameters(), 1.0)
        before = torch.cat([value.detach().flatten() for value in run.network.parameters()])
        run.step()
        after = torch.cat([value.detach().flatten() for value in run.network.parameters()])
        steps.append(float((after - before).norm()))
    assert steps[0] > 0.02 and steps[1] == pytest.approx(0.01, rel=1e-3)


def test_the_running_reward_is_that_of_the_last_games(road, tmp_path, monkeypatch):
    """-1 until there are as many; training ends when it is reached."""
    monkeypatch.setattr(policy_gradient.ReinforceRun, "WINDOW", 80)
    run = policy_gradient.ReinforceRun(config_of(road, run=tmp_path))
    run.step()
    assert run.running_reward == -1
    run.step()
    run.step()
    assert run.running_reward == pytest.approx(run.results[40:].mean()) and len(run.results) == 120
    ended = policy_gradient.train(config_of(road, run=tmp_path, output=tmp_path / "pg.bin", stop=-0.9999))
    assert ended.games == 80


def test_an_update_follows_the_returns(road, tmp_path):
    """On one fixed game, the moves of a winner become likelier, those of a loser less likely."""
    played = PlayedGames(np.array([[3, 0, 3, 0, 3, 0, 3]], np.int8), np.array([1], np.int8), np.array([True]))
    boards, games = [], ConnectX(1, STANDARD)
    for moved in replay(games, played.moves):
        boards.append(games.boards(moved))
    mine = np.concatenate([np.zeros((1, 6, 7), np.int8), boards[1], boards[3], boards[5]])
    rows = Choices(mine, np.full(4, 3), np.zeros(4, np.int64), np.arange(4))
    for result in (1, -1):
        run = policy_gradient.ReinforceRun(config_of(road, run=tmp_path, start="nothing", entropy=0.0))
        before = softmax(logits_of(run.network)(mine))[:, 3]
        for _ in range(5):
            run.learn(rows, np.array([result], np.int8))
        assert ((softmax(logits_of(run.network)(mine))[:, 3] - before) * result > 0).all()


def test_rate_and_entropy_decay(road, tmp_path, monkeypatch):
    """Linearly with the games: the rate to 0, the bonus to 0.3 of what it was."""
    weights = list[float]()

    def watched(*arguments):
        weights.append(arguments[-1])
        return clipped_loss(*arguments)

    monkeypatch.setattr(policy_gradient, "clipped_loss", watched)
    run = policy_gradient.ReinforceRun(config_of(road, run=tmp_path, learning_rate=1e-2, entropy=0.1))
    rates = []
    for _ in range(10):
        run.step()
        rates.append(run.optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx(np.arange(10, 0, -1) / 1000)
    assert weights == pytest.approx([0.03 + 0.007 * left for left in range(10, 0, -1)])

"""The actor-critic learner: what its network sees, its loss, its opponents, its running reward."""

from typing import Any

import numpy as np
import pytest
import torch

from connectx_core.network import PlainNetwork, trunk
from connectx_core.position import STANDARD, Position
from connectx_toolkit.cli import train
from connectx_toolkit.training.learners import actor_critic
from connectx_toolkit.training.learners.actor_critic import (
    ActorCriticRun,
    Config,
    SelfPlay,
    fresh_network,
    geometry_for,
    loss_of,
    strict_results,
)
from connectx_toolkit.training.learners.whole_games import ILLEGAL, Choices
from connectx_toolkit.training.opponents import tree_of, tree_player, two_plies
from connectx_toolkit.training.supervised import planes_of_boards
from connectx_toolkit.training.vector_games import ConnectX, TicTacToe, games_named, play_games, random_player

pytestmark = pytest.mark.slow
SMALL: dict[str, Any] = {"games": 1000, "batch": 100, "channels": 4, "hidden": 16}


def played(games, plies: int, rng):
    player = random_player(rng)
    for _ in range(plies):
        which = np.flatnonzero(~games.done)
        games.play(player(games, which), which)
    return games


def test_dense_layers_read_the_board():
    """Two channels of the fresh convolution are the stones themselves."""
    games = played(TicTacToe(20), 4, np.random.default_rng(2))
    network = fresh_network(games, channels=4, hidden=8, seed=1)
    planes = planes_of_boards(games.boards(), geometry_for(games), actor_critic.BOARD_ENCODING)
    seen = trunk(network, [("conv", 6)], planes)
    assert seen.shape == (20, 6, 3, 3) and (seen[:, :2] == planes).all()


def test_loss():
    """By its parts, worked out with numpy; the critic learns from its own error only."""
    rng = np.random.default_rng(3)
    logits = torch.tensor(rng.normal(size=(5, 4)), requires_grad=True)
    values = torch.tensor(rng.normal(size=(5, 1)), requires_grad=True)
    actions, returns = torch.tensor([0, 3, 1, 1, 2]), torch.tensor(rng.normal(size=5))
    loss = loss_of({"policy": logits, "value": values}, actions, returns, entropy=0.1)
    chances = np.exp(logits.detach().numpy())
    chances /= chances.sum(1, keepdims=True)
    advantage = (returns - values[:, 0]).detach().numpy()
    actor = -(np.log(chances[np.arange(5), actions.numpy()]) * advantage).mean()
    spread = -(chances * np.log(chances)).sum(1).mean()
    assert loss.item() == pytest.approx(actor + np.abs(advantage).mean() - 0.1 * spread)
    loss.backward()
    assert values.grad is not None and np.allclose(values.grad[:, 0].numpy(), -np.sign(advantage) / 5)


def test_only_practice_games_are_made_easier(tmp_path):
    """With half of the games for practice, and all, half or none of the early moves there errors: minimax wins some of
    them, as many or fewer, or none; and no other game."""
    minimax, wins = tree_player(tree_of(TicTacToe(1)), "minimax", np.random.default_rng(1)), []
    for errors in (0.0, 0.5, 1.0):
        options = SMALL | {"batch": 400, "practice": 0.5, "errors": errors}
        run = ActorCriticRun(Config(**options, opponent="minimax", run=tmp_path))
        outcomes = play_games(TicTacToe(400), (minimax, run.opponent()), np.arange(400) % 2 == 0).outcomes()
        wins.append((outcomes[:200] == 1).sum())
        assert (outcomes[:200] >= 0).all() and (outcomes[200:] == 0).all()
    assert wins[0] == 0 and 10 < wins[1] < wins[2] - 10


def test_two_plies_wins_and_blocks():
    """In every position of random games; else any legal column."""
    rng = np.random.default_rng(6)
    games = played(ConnectX(600, STANDARD), 9, rng)
    going = np.flatnonzero(~games.done)
    stones, masks = games.bitboards(going)
    columns = two_plies(rng)(games, going)
    kinds = set()
    for mine, mask, column in zip(stones.tolist(), masks.tolist(), columns.tolist(), strict=True):
        position = Position(mine, mask, STANDARD)
        wins, blocks = position.winning_columns(), position.pass_turn().winning_columns()
        assert column in (wins or blocks or position.legal_columns())
        kinds.add("win" if wins else "block" if blocks else column)
    assert kinds == {"win", "block", *range(7)}


def test_rate_and_entropy_decay(tmp_path, monkeypatch):
    """The learning rate falls to a tenth and the entropy's weight to nothing, and there they stay."""
    weights: list[float] = []

    def noting(outputs, actions, returns, entropy):
        weights.append(entropy)
        return loss_of(outputs, actions, returns, entropy)

    monkeypatch.setattr(actor_critic, "loss_of", noting)
    monkeypatch.setattr(actor_critic, "LAST_PART", 0.6)
    run = ActorCriticRun(Config(**SMALL, learning_rate=1e-3, entropy=0.1, run=tmp_path))
    rates = []
    for _ in range(10):
        run.step()
        rates.append(run.optimizer.param_groups[0]["lr"])
    assert rates[:4] == sorted(rates[:4], reverse=True) and rates[4:] == pytest.approx([1e-4] * 6)
    assert weights[0] == pytest.approx(0.1) and min(weights[:4]) > 0 and not any(weights[4:])


def test_only_sound_games_are_rewarded(tmp_path):
    """A quarter of each batch; the curve has the means of both kinds."""
    run = ActorCriticRun(Config(**SMALL, run=tmp_path))
    run.step()
    run.step()
    assert run.games == 200 and len(run.results) == 50
    games, mean, practice, illegal, error = run.curve[-1]
    assert games == 200 and mean == run.results[25:].mean() and -1 <= practice < 1 and illegal > 0 < error


@pytest.mark.parametrize("batch", [100, 30])
def test_both_seats_are_practised_alike(tmp_path, batch):
    """And rewarded alike, over two batches also where a part of one is odd."""
    run = ActorCriticRun(Config(**SMALL | {"batch": batch}, practice=0.5, run=tmp_path))
    seats = [run.leads()]
    run.curve.append([])
    seats.append(run.leads())
    for part in (run.practice, ~run.practice):
        assert np.concatenate([leads[part] for leads in seats]).mean() == 0.5


def test_self_play_keeps_past_versions():
    network = fresh_network(games_named("4x4k3"), 4, 8, seed=1)
    pool = SelfPlay(network, np.random.default_rng(5))
    for _ in range(2 * actor_critic.PAST_VERSIONS):
        with torch.no_grad():
            network.get_parameter("value_bias").add_(1.0)
        pool.add()
    biases = [float(version["value_bias"]) for version in pool.versions]
    assert (
        len(biases) == actor_critic.PAST_VERSIONS
        and biases == sorted(set(biases))
        and biases[-1] == 2 * actor_critic.PAST_VERSIONS
    )


def test_an_illegal_try_counts_as_lost():
    """Whatever the result of the game."""
    board = np.zeros((4, 3, 3), np.int8)
    choices = Choices(board, np.zeros(4, np.int64), np.array([0, 1, 1, 2]), np.array([0, ILLEGAL, 0, 0]))
    assert strict_results(np.array([1, 1, 0], np.int8), choices).tolist() == [1, -1, 0]


def test_command_line(tmp_path, capsys):
    """Trains, writes network, manifest and curves; a second call says that nothing is left to do."""
    paths = ["--run", str(tmp_path / "run"), "--output", str(tmp_path / "net.bin")]
    command = ["actor-critic", *paths, *(f"--{name}={value}" for name, value in SMALL.items())]
    assert train.main(command) == 0
    first, told = capsys.readouterr()
    assert " games a second on cpu" in told
    assert "after 1000 games" in first and "against a look-ahead of 3 plies" in first
    assert (tmp_path / "run" / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert PlainNetwork.from_bytes((tmp_path / "net.bin").read_bytes()).architecture.shape == (3, 3, 3)
    assert '"games": 1000' in (tmp_path / "manifest.json").read_text()
    assert train.main(command) == 2
    told = capsys.readouterr().err
    assert told == f"train.py: {tmp_path / 'run'} is finished: choose another --run, or delete it\n"

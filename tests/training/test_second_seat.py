"""What the second seat plays from: the pool of opponents, the types, the forecast, the model as a whole, its book."""

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

from agents import perfect
from connectx_core.books import Book, openings
from connectx_core.opponent import NO_MOVE, SKILLS, ReplyModel
from connectx_core.position import STANDARD, Position, sign
from connectx_core.weights import unpack
from connectx_toolkit.games.labelled import write_labels
from connectx_toolkit.training.makers import book, opponent_model, opponent_pool
from connectx_toolkit.training.makers.labels import opening_labels
from connectx_toolkit.training.makers.opponent_model import (
    Config,
    Learner,
    Problems,
    fit_types,
    log_likelihoods,
    problems_of,
)
from connectx_toolkit.training.makers.opponent_pool import (
    DEVELOPMENT,
    HELD_OUT_PLAYERS,
    PoolPlayer,
    column_of,
    most_visited,
    tree_search,
)
from connectx_toolkit.training.runs import FINISHED

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]
MODEL = perfect.opponent.model
ONE_OF_A_KIND = {player.kind: player for player in DEVELOPMENT + HELD_OUT_PLAYERS}.values()


@pytest.mark.parametrize("player", ONE_OF_A_KIND, ids=lambda player: player.kind)
def test_players_of_the_pool(player):
    """Legal moves from the empty board, a win that is there, and not always the same game."""
    if player.kind in ("minimax", "leaf", "puct", "mcts"):
        player = player._replace(strength=min(player.strength, 60 if player.kind in ("puct", "mcts") else 4))
    column = column_of(player, Random(1))
    assert column(Position.empty(STANDARD)) in range(7)
    full = Position.from_moves([3, 3, 3, 3, 3, 3, 0], STANDARD)
    assert all(column(full) != 3 for _ in range(5))
    if player.kind != "policy":
        threat = Position.from_moves([0, 6, 1, 6, 2, 6], STANDARD)
        assert sum(column(threat) == 3 for _ in range(5)) >= 3


def test_halves_are_apart():
    """No player is in both, and their networks are other ones, but for the leaf network."""
    assert not set(DEVELOPMENT) & set(HELD_OUT_PLAYERS)
    networks = [{player.network for player in half if player.network} for half in (DEVELOPMENT, HELD_OUT_PLAYERS)]
    assert not networks[0] & networks[1]


def test_tree_search_counts_and_finds():
    """Every playout visits a child of the root but the first; more of them find the only move that does not lose."""
    block = Position.from_moves([0, 6, 1, 6, 2], STANDARD)
    visits = tree_search(block.position, block.mask, 500, 7, STANDARD)
    assert visits.sum() == 500 and visits.argmax() == 3
    full = Position.from_moves([3, 3, 3, 3, 3, 3], STANDARD)
    assert tree_search(full.position, full.mask, 300, 1, STANDARD)[3] == 0
    assert most_visited(block, 500, Random(3)) == 3


def test_playouts_are_for_the_right_side():
    """On the empty board, where only they tell one move from another, most visits are to the centre, which wins."""
    visits = sum(tree_search(0, 0, 500, seed, STANDARD) for seed in range(20))
    assert visits[3] > 0.3 * visits.sum()


def test_types_are_recovered():
    """Two types of three kinds; each game's moves are drawn from one."""
    rng = np.random.default_rng(4)
    truth = np.array([[0.8, 0.2, 0.0], [0.0, 0.1, 0.9]])
    likelihoods, games = [], []
    moves_of_kinds = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    for game in range(200):
        for kind in rng.choice(3, 20, p=truth[game % 2]):
            likelihoods.append(moves_of_kinds[:, rng.choice(3, p=moves_of_kinds[kind])])
            games.append(game)
    moves, numbers = np.array(likelihoods), np.array(games)
    prior, types = fit_types(moves, numbers, 2, seed=1)
    order = types[:, 2].argsort()
    assert np.allclose(types[order], truth, atol=0.07) and np.allclose(prior, 0.5, atol=0.05)
    assert (log_likelihoods(moves, numbers, types[order]).argmax(1) == np.arange(200) % 2).mean() > 0.95


def test_the_forecast_is_learnt(monkeypatch):
    """On a few openings: chances are probabilities, what cannot be given away is not, and the loss falls."""
    monkeypatch.setattr(opponent_model, "BATCH_SIZE", 128)
    monkeypatch.setattr(opponent_model, "LEARNING_RATE", 0.02)
    labels = opening_labels()
    labels = labels.take(np.arange(0, len(labels), 480))
    problems = problems_of(labels, MODEL.policy, MODEL.types)
    assert np.allclose(problems.chances.sum(2), 1, atol=1e-5)
    scores = np.where(labels.legal, labels.scores.astype(int), NO_MOVE)
    row = int(np.flatnonzero(labels.plies == 4)[0])
    position = Position(int(labels.positions[row]), int(labels.masks[row]), STANDARD)
    assert np.allclose(problems.chances[row], MODEL.chances([position], scores[row : row + 1])[0], atol=1e-4)
    assert (problems.points[~labels.legal] == 0).all() and problems.points.max() == 1
    learner = Learner(problems, Config(types=len(MODEL.prior), layers="dense:16").architecture(), 100, seed=1)
    before = np.mean([learner.learn() for _ in range(5)])
    learner.run()
    after = np.mean([learner.learn() for _ in range(5)])
    assert after < before - 0.02
    assert not problems.theirs[problems.results < 0].any()
    for row in range(len(labels)):
        position = Position(int(labels.positions[row]), int(labels.masks[row]), STANDARD)
        results = {column: sign(int(scores[row, column])) for column in position.legal_columns()}
        given = {column: (max(results.values()) - result) / 2 for column, result in results.items()}
        assert {column: problems.points[row, column] for column in results} == given
        goes_on = [column for column in results if column not in position.winning_columns()]
        assert np.flatnonzero(problems.ours[row]).tolist() == [c for c in goes_on if not given[c]]
        assert np.flatnonzero(problems.theirs[row]).tolist() == [c for c in goes_on if results[c] >= 0]


def test_what_the_forecast_is_taught(monkeypatch):
    """By hand. The opponent: half of its moves give a point away, the other half lead to where it gives 0.2 away. We:
    of two moves that keep the result, that after which more is given away; of a third one the result is lost."""
    none = np.zeros((2, 7))
    chances, points, theirs, ours = none[:, None].copy(), none.copy(), none.copy(), none.copy()
    chances[0, 0, :2], points[0, 0], theirs[0, 1], ours[1, 2:4] = 0.5, 1, 1, 1
    empty = np.zeros(2, np.int64)
    moves = np.tile(1 << 7 * np.arange(7), (2, 1))
    arrays = chances.astype(np.float32), points, theirs > 0, ours > 0
    problems = Problems(empty, empty, moves, empty, *arrays)
    odds = {1 << 14: 0.3, 1 << 21: 0.6}

    def logits(network, positions, masks):
        gift = torch.logit(torch.tensor([[odds.get(mask, 0.9)] for mask in masks.tolist()]))
        return {"gift": gift, "hope": torch.logit(torch.full((len(masks), 1), 0.2))}

    monkeypatch.setattr(Learner, "logits", staticmethod(logits))
    learner = Learner(problems, Config(types=1, layers="dense:4").architecture(), 1, seed=1)
    given, kept = learner.targets(np.array([0]), np.array([1]))
    assert given == pytest.approx(np.array([[0.5 * 1 + 0.5 * 0.2]])) and kept == pytest.approx(np.array([[0.6]]))


@pytest.fixture
def quick_pool(monkeypatch):
    monkeypatch.setattr(opponent_model, "DEVELOPMENT", (PoolPlayer("mcts", 200), PoolPlayer("minimax", 4)))
    monkeypatch.setattr(opponent_model, "PLAY_CONFIG", opponent_model.PLAY_CONFIG | {"actTimeout": 0.02})


def test_model_from_games(tmp_path, quick_pool):
    """Games are kept and not played again; the published file is a model."""
    write_labels(tmp_path / "one.labels", opening_labels().take(np.arange(1)), {})
    config = Config(
        plays=1, rematches=1, types=2, samples=4096, layers="dense:16",
        labels=tmp_path / "one.labels", run=tmp_path / "run", output=tmp_path / "replies.bin",
    )  # fmt: skip
    facts = opponent_model.train(config)
    assert facts["moves"] > 10 and sum(facts["prior"]) == pytest.approx(1, abs=0.01)
    (tmp_path / "run" / FINISHED).unlink()
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir()}
    assert opponent_model.train(config) == facts and len(stamps) == 2
    assert stamps == {path: path.stat().st_mtime_ns for path in stamps}
    model = ReplyModel.from_bytes((tmp_path / "replies.bin").read_bytes(), MODEL.policy)
    assert model.types.shape == (2, len(SKILLS))
    arrays, _ = unpack(next(iter(stamps)).read_bytes())
    assert (arrays["scores"][np.arange(len(arrays["columns"])), arrays["columns"]] != NO_MOVE).all()


def test_games_of_other_networks_are_not_taken(tmp_path, monkeypatch):
    """A run that goes on after a network of the pool, or perfect's book, was made again would mix two opponents."""
    nothing = np.zeros(1, np.int64)
    moves = opponent_model.Moves(nothing, nothing, np.zeros((1, 7), np.int64), nothing, nothing)
    monkeypatch.setattr(opponent_model, "play_games_of", lambda player, config: moves)
    monkeypatch.setattr(opponent_pool, "WEIGHTS", tmp_path)
    players = (PoolPlayer("policy", 0.5, "ppo.bin"), PoolPlayer("leaf", 8))
    monkeypatch.setattr(opponent_model, "DEVELOPMENT", players)
    files = ("ppo.bin", "nnue.bin")
    for name in files:
        (tmp_path / name).write_bytes(b"early")
    assert {"perfect_replies.bin", "perfect_second_book.bin", *files} <= Config().origin["inputs"].keys()
    opponent_model.moves_of_all(players, Config(run=tmp_path))
    opponent_model.moves_of_all(players, Config(run=tmp_path))
    for name in files:
        (tmp_path / name).write_bytes(b"later")
        with pytest.raises(ValueError, match=rf"holds a run that read another {name}"):
            opponent_model.moves_of_all(players, Config(run=tmp_path))
        (tmp_path / name).write_bytes(b"early")
    of_own_games = Config(games="games.sqlite").files_read()
    assert of_own_games["labels"] == Path() and of_own_games.keys() == {"games", "labels", "replies_policy", "shipped"}
    assert book.Config().files_read()["shipped"] == Path() != book.Config(games="games.sqlite").files_read()["shipped"]


def test_second_book(tmp_path, monkeypatch):
    """Columns keep the result, equally good ones are all there; a second run asks for nothing again."""
    config = book.Config(
        last_ply=3, least=0.01, nodes=20_000, table_bits=18, workers=1,
        entries=tmp_path / "entries.bin", run=tmp_path / "run", output=tmp_path / "second.bin",
    )  # fmt: skip
    made = book.train(config)
    assert isinstance(made, Book) and len(made) > 4
    again = Book.from_bytes((tmp_path / "second.bin").read_bytes())
    first = Position.empty(STANDARD).play(3)
    assert again.columns(first) == made.columns(first) != []
    recipe = {name: config.settings[name] for name in ("replies_policy", "replies", "nodes")}
    for state, columns in book.read_entries(config, recipe).items():
        scores = openings().scores(state)
        assert scores is not None and again.columns(state) == sorted(columns)
        assert sorted(again.columns(state.mirror())) == sorted(6 - column for column in again.columns(state))
        best = max(score for score in scores if score is not None)
        assert all(sign(scores[column] or 0) == sign(best) <= 0 for column in columns)
    monkeypatch.setattr(book, "find_entry", None)
    config = replace(config, run=tmp_path / "run2")
    repeated = book.train(config)
    assert repeated and repeated.to_bytes() == again.to_bytes()
    assert again.columns(Position.empty(STANDARD)) == []
    with pytest.raises(ValueError, match="--nodes 20000, not 10000"):
        book.train(replace(config, nodes=10_000, run=tmp_path / "run3"))

"""Menace: what is learned from a game, the figures of Nim, and play against a person."""

import builtins

import numpy as np
import pytest

from connectx_core.weights import unpack
from connectx_toolkit.cli import train
from connectx_toolkit.training.learners import menace
from connectx_toolkit.training.learners.menace import (
    DROP,
    EARLY,
    IDEAL,
    KEEP,
    PLAYERS,
    STABLE,
    UNTRAINED,
    Boxes,
    Config,
    LearningGroup,
    Population,
    draw_members,
    play_human,
    round_robin,
)
from connectx_toolkit.training.opponents import normed_rows, table_player, tree_of
from connectx_toolkit.training.vector_games import Nim, games_named

pytestmark = pytest.mark.slow


def trained(tmp_path, **options) -> Population:
    config = Config(run=tmp_path, **options)
    population = Population(tree_of(games_named(config.game)), config)
    population.train()
    return population


@pytest.mark.parametrize(("rule", "after"), [(KEEP, [1, 1, 0, 2]), (DROP, [0, 0, 0, 2])])
def test_losers_lose_beads(rule, after):
    boxes = Boxes([[2, 3, 0, 2]], rule)
    for _ in range(3):
        boxes.take([(0, 0), (0, 1)], 1)
    assert boxes.beads == [after]


@pytest.mark.parametrize("rule", [KEEP, DROP])
@pytest.mark.parametrize("penalty", [1, 5])
def test_the_last_bead_stays(rule, penalty):
    """However often every action loses; and what was never there does not come."""
    boxes = Boxes([[3, 0, 2]], rule)
    for _ in range(10):
        for action in (0, 2):
            boxes.take([(0, action)], penalty)
    assert sum(boxes.beads[0]) == (2 if rule == KEEP else 1) and boxes.beads[0][1] == 0


def test_winners_gain_and_draws_follow_the_beads():
    boxes = Boxes([[1, 0, 1], [2, 2, 0]], KEEP)
    boxes.add([(0, 2)], 2)
    assert boxes.beads == [[1, 0, 3], [2, 2, 0]]
    assert [boxes.draw(0, chance) for chance in (0.0, 0.24, 0.25, 0.999999)] == [0, 0, 2, 2]


def test_the_table_of_wins(tmp_path):
    """Rows are those who move first; nobody wins against the ideal player, for Nim with 9 tokens is lost to it."""
    population = trained(tmp_path, games=200)
    results = round_robin(population, 1000, seed=1)
    ideal, untrained = PLAYERS.index(IDEAL), PLAYERS.index(UNTRAINED)
    assert results.shape == (6, 6, 3) and (results[:, ideal, 0] == 0).all() and np.allclose(results.sum(2), 1)
    assert abs(results[untrained, untrained, 0] - 0.5) < 0.07 and results[ideal, untrained, 0] > 0.8
    assert [len(population.chances(name)) for name in PLAYERS] == [2, 2, 10, 1, 2, 1]
    assert [group.played for group in population.groups.values()] == [200, 200, 200, 100]
    for group in population.groups.values():
        assert len({player.rule for player in group.players}) == 1
    assert population.groups[DROP].players[0].rule == DROP and population.groups[STABLE].players[0].rule == KEEP


def test_the_figures_of_the_source(tmp_path):
    """Of two that keep, the first wins 0.23% there; who dropped what it needs loses off the main line."""
    results = round_robin(trained(tmp_path, seed=4), 10_000, seed=4)[..., 0]
    keep, drop, early, untrained = (PLAYERS.index(name) for name in (KEEP, DROP, EARLY, UNTRAINED))
    assert 0.0005 < results[keep, keep] < 0.005 and results[untrained, keep] < 0.005
    assert results[untrained, drop] > 10 * results[untrained, keep] and results[keep, early] > 0.2


def test_a_game_of_a_table_is_between_two_members():
    """Each of a group's, and never one against itself; the table that plays a game is that of its member."""
    rng = np.random.default_rng(1)
    first = draw_members(10, 2000, rng)
    second = draw_members(10, 2000, rng, first)
    assert set(first) == set(second) == set(range(10)) and (first != second).all()
    assert (draw_members(1, 5, rng, np.zeros(5, np.int64)) == 0).all()
    tree = tree_of(Nim(1))
    always = np.stack([tree.legal * (np.arange(3) == action) + 0.0 for action in range(3)]) + 1e-9 * tree.legal
    player = table_player(tree, normed_rows(always), rng, np.array([2, 0, 1, 2]))
    assert player(Nim(4), np.array([0, 1, 3])).tolist() == [2, 0, 2]


def test_one_game_moves_beads():
    """Of one token, which the first has to take: it loses beads in its box, and the other's stay as they are."""
    tree = tree_of(Nim(1, tokens=1))
    group = LearningGroup(tree, Config(), KEEP)
    group.learn(tree.children.tolist(), tree.rewards.tolist(), Config(penalty=2))
    assert sorted(player.beads for player in group.players) == [[[1, 0, 0]], [[3, 0, 0]]] and menace.BEADS == 3
    assert group.first_wins == [0]


def test_one_set_of_boxes_plays_both_seats():
    """The seats are drawn: of one token, each of two has lost the bead of the first after a few games."""
    tree = tree_of(Nim(1, tokens=1))
    group = LearningGroup(tree, Config(), KEEP)
    for _ in range(40):
        group.learn(tree.children.tolist(), tree.rewards.tolist(), Config())
    assert [player.beads for player in group.players] == [[[1, 0, 0]], [[1, 0, 0]]]


def test_command_line(tmp_path, capsys, monkeypatch):
    """Prints the coloured table, writes beads and curves, and plays a person to the end of a game, as often as asked.

    Without a person a finished run is refused.
    """
    for name, value in {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    moves = iter(["0", "four", "", "1", "1", "1", "1", "1"])
    command = ["menace", "--games", "200", "--test-games", "100", "--run", str(tmp_path)]
    asked: list[str] = []

    def typed(prompt: str) -> str:
        asked.append(prompt)
        return next(moves)

    monkeypatch.setattr(builtins, "input", typed)
    assert train.main([*command, "--human", "first"]) == 0
    printed = capsys.readouterr().out
    assert "untrained" in printed and "score: the first player wins" in printed and "\x1b[30;48;2;" in printed
    assert asked[:4] == ["your move, one of 1, 2, 3 (q to leave): "] * 4
    assert "you win" in printed or "the other side wins" in printed
    arrays, meta = unpack((tmp_path / "menace.bin").read_bytes())
    assert arrays["stable/beads"].shape == (10, 9, 3) and arrays["keep/curve"].shape == (2,) and meta == {"game": "nim"}
    assert train.main(command) == 2 and "is finished" in capsys.readouterr().err
    monkeypatch.setattr(builtins, "input", lambda prompt: "q")
    published = (tmp_path / "manifest.json").stat().st_mtime_ns
    assert train.main([*command, "--human", "first"]) == 0
    assert "score" not in capsys.readouterr().out and (tmp_path / "manifest.json").stat().st_mtime_ns == published
    assert (tmp_path / "nim-curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_person_plays_either_seat(capsys, monkeypatch):
    """Who is asked again after what is no legal move, and may leave; columns count from 0, cells from 1."""
    typed = iter(["5", "5", " Q "])
    monkeypatch.setattr(builtins, "input", lambda prompt: next(typed))
    play_human(games_named("tictactoe"), 0, ideal_of("tictactoe"))
    boards = capsys.readouterr().out
    assert boards.count("the other side plays") == 1 and ". X ." in boards and boards.count("O") == 1
    asked: list[str] = []

    def first_legal(prompt: str) -> str:
        asked.append(prompt)
        return prompt.removeprefix("your move, one of ")[0]

    monkeypatch.setattr(builtins, "input", first_legal)
    board = games_named("4x4k3")
    play_human(board, 1, ideal_of("4x4k3"))
    assert asked[0].startswith("your move, one of 0, 1, 2, 3 (q") and (board.stones[0, :, 0] != 0).all()
    assert capsys.readouterr().out.endswith(("a draw\n", "the other side wins\n"))


def ideal_of(name):
    tree = tree_of(games_named(name))
    return table_player(tree, normed_rows(tree.best), np.random.default_rng(1))

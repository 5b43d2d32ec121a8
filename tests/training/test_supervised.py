"""What supervised learners are measured on: boards that no game has which they learn from, and the others."""

import json

import numpy as np
import pytest

from connectx.torch_form import Network
from connectx_toolkit.cli import train
from connectx_toolkit.system.files import read_as
from connectx_toolkit.training.learners import imitation
from connectx_toolkit.training.supervised import Examples, Parts, logits_of, split

pytestmark = pytest.mark.slow


def first_stones(columns: np.ndarray) -> Parts:
    """The parts of games that each begin in their column; the answers are the games' numbers."""

    def examples_of(games: np.ndarray) -> Examples:
        boards = np.zeros((len(games), 6, 7), np.int8)
        boards[np.arange(len(games)), -1, columns[games]] = 1
        return Examples(boards, games)

    return split(len(columns), examples_of)


def test_a_new_board_is_in_no_game_that_is_learnt():
    """Nor is its mirror image: game 0 begins as games 1 to 19 do, mirrored, and game 20 as no other."""
    columns = np.full(40, 6)
    columns[[0, 20]] = 0, 3
    training, new, known = first_stones(columns)
    assert (new.answers.tolist(), known.answers.tolist()) == ([20], [0])
    assert not {0, 20} & set(training.answers.tolist()) and len(training.answers) == 38
    with pytest.raises(ValueError, match="20 games are too few: of those held out, no board is new"):
        first_stones(columns[:20])


def test_imitate_tells_both_accuracies(tmp_path, capsys):
    """Of new boards and of known ones, as counted here board by board."""
    options = ["--depth", "1", "--games", "200", "--steps", "30", "--channels", "4", "--hidden", "8"]
    assert train.main(["imitate", *options, "--run", str(tmp_path), "--output", str(tmp_path / "net.bin")]) == 0
    config = imitation.Config(depth=1, games=200, run=tmp_path)
    moves, preferred = imitation.games_of(config)
    out = np.arange(200) % 20 == 0
    learnt, held_out = (imitation.labelled(moves[part], preferred[part]) for part in (~out, out))
    known = {board.tobytes() for board in learnt.boards} | {board[:, ::-1].tobytes() for board in learnt.boards}
    is_known = np.array([board.tobytes() in known for board in held_out.boards])
    network = read_as(Network.from_bytes, tmp_path / "net.bin")
    right = logits_of(network)(held_out.boards).argmax(1) == held_out.answers
    facts = json.loads((tmp_path / "manifest.json").read_text())["net.bin"]["agreement"]
    wanted = {"new_boards": right[~is_known].mean(), "known_boards": right[is_known].mean()}
    assert facts == pytest.approx(wanted, abs=0.01)  # the file's numbers are of 16 bits
    score = capsys.readouterr().out.splitlines()[-1]
    assert "% of new boards, " in score and "% of boards that it learnt; wrote" in score

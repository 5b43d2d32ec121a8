"""Encodings, networks in numpy and in torch, and the files that hold them."""

import random
import subprocess
import sys
from itertools import product

import numpy as np
import pytest
import torch

from connectx_core.afterstates import (
    BEST_BONUS,
    RESULT_BONUS,
    UNRATED,
    MoveNetwork,
    afterstates,
    chances_of_best,
    chances_of_moves,
    policy_of,
    score_range,
)
from connectx_core.encoding import ENCODINGS, FOUR_PLACES, FOURS, bits_of, encode, encode_many
from connectx_core.network import (
    Architecture,
    PlainNetwork,
    both_views,
    masked_argmax,
    read_network,
    softmax,
)
from connectx_core.position import STANDARD, Position, geometry_of
from connectx_core.steps import Layers, batchnorm, conv2d, layernorm, linear
from connectx_core.torch_form import Network
from connectx_core.weights import pack, unpack
from connectx_toolkit.system.files import ROOT
from tests.conftest import random_game

pytestmark = pytest.mark.slow
LAYERS = [
    (("conv", 8), ("conv", 3), ("dense", 16)),
    (("conv", 5), ("conv", 7)),
    (("dense", 24), ("dense", 12)),
    (),
]


def stones_of(positions: list[Position]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([p.position for p in positions]), np.array([p.mask for p in positions])


def sample(geometry=STANDARD, games: int = 8, seed: int = 1) -> list[Position]:
    rng = random.Random(seed)
    return [position for _ in range(games) for position in random_game(geometry, rng)]


@pytest.mark.parametrize("shape", [(6, 7, 4), (4, 5, 3), (5, 4, 3), (7, 7, 5)], ids=str)
def test_planes_are_what_a_slow_reading_says(shape):
    """Each plane of "facts-1", cell by cell, from the board's list and from moves tried out."""
    geometry = geometry_of(*shape)
    for position in sample(geometry, 3):
        planes, board, rows = encode(position, "facts-1")[0], position.to_board(), geometry.rows
        sides, mover = (position.position, position.position ^ position.mask), 1 + position.ply % 2
        for row, column in np.ndindex(rows, geometry.columns):
            stone, bit = board[(rows - 1 - row) * geometry.columns + column], 1 << column * geometry.stride + row
            after = [Position(position.mask ^ side, position.mask | bit, geometry) for side in sides]
            wins = [stone == 0 and state.is_lost() for state in after]
            height = (position.mask & geometry.column_mask(column)).bit_count()
            expected = [stone == mover, stone == 3 - mover, *wins, height == row, mover == 1]
            assert planes[:, row, column].tolist() == expected


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_mirrored_positions_have_mirrored_planes(encoding):
    positions = sample()
    planes = encode_many(*stones_of(positions), STANDARD, encoding)
    mirrored = encode_many(*stones_of([p.mirror() for p in positions]), STANDARD, encoding)
    assert (planes[..., ::-1] == mirrored).all() and planes.dtype == np.uint8
    assert (np.concatenate([encode(p, encoding) for p in positions]) == planes).all()


def test_bad_encodings():
    with pytest.raises(ValueError, match="encoding 'facts-9' is unknown"):
        encode(Position.empty(STANDARD), "facts-9")
    with pytest.raises(ValueError, match="does not fit"):
        bits_of(np.array([0]), np.array([0]), geometry_of(12, 12, 5), "stones-1")


@pytest.mark.parametrize("layers", LAYERS, ids=str)
@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_exported_equals_torch(layers, encoding):
    """Within 1e-5, in batches and one by one, with outputs of the size that trained networks have."""
    torch.manual_seed(1)
    network = Network(Architecture(encoding, layers))
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
            if name.split("_")[0] in ("policy", "value"):
                parameter.mul_(8)
    network = Network.from_bytes(network.to_bytes())
    plain = MoveNetwork.from_bytes(network.to_bytes())
    positions = sample()
    planes = encode_many(*stones_of(positions), STANDARD, encoding)
    with torch.inference_mode():
        expected = {name: output.numpy() for name, output in network(torch.from_numpy(planes).float()).items()}
    outputs = plain.forward(planes)
    for name, size in network.architecture.heads:
        assert outputs[name].shape == (len(positions), size) and np.abs(expected[name]).max() > 0.5
        assert np.abs(outputs[name] - expected[name]).max() < 1e-5 * max(1, np.abs(expected[name]).max())
        assert np.abs(plain.forward(planes[9:10])[name] - expected[name][9]).max() < 1e-5 * np.abs(expected[name]).max()


def test_both_views_count_alike():
    """A mirrored position gets the mirrored policy and the same value; one position what it gets among many."""
    torch.manual_seed(2)
    plain = MoveNetwork.from_bytes(Network(Architecture("facts-1", (("conv", 6), ("dense", 20)))).to_bytes())
    positions = sample(games=3)
    outputs = plain.evaluate_many(*stones_of(positions))
    mirrored = plain.evaluate_many(*stones_of([p.mirror() for p in positions]))
    assert np.allclose(outputs["policy"], mirrored["policy"][:, ::-1], atol=1e-6)
    assert np.allclose(outputs["value"], mirrored["value"], atol=1e-6)
    assert np.allclose(plain.evaluate(positions[5])["policy"], outputs["policy"][5], atol=1e-6)
    planes = encode_many(*stones_of(positions), STANDARD, "facts-1")
    one_way, other_way = plain.forward(planes)["policy"], plain.forward(planes[..., ::-1])["policy"][:, ::-1]
    assert np.allclose(outputs["policy"], (one_way + other_way) / 2, atol=1e-6) and (one_way != other_way).any()


def answers_of(position: Position) -> list[int]:
    """The columns after which the other side cannot win at once, by trying."""
    return [column for column in position.legal_columns() if not position.play(column).winning_columns()]


def followed(position: Position) -> tuple[Position, int | None]:
    """Where replies that are the only ones not to lose at once end, and the score there, by trying every move."""
    if position.winning_columns():
        return position, (position.geometry.cells + 1 - position.ply) // 2
    answers = answers_of(position)
    if not answers and not position.is_full():
        return position, -((position.geometry.cells - position.ply) // 2)
    return followed(position.play(answers[0])) if len(answers) == 1 else (position, None)


def test_what_is_judged_and_what_the_rules_know():
    """Of each position what its moves and forced replies lead to, unless somebody wins so; by trying every move."""
    positions = sample()
    states = afterstates(*stones_of(positions), STANDARD)
    assert (np.diff(states.rows) >= 0).all() and states.is_own.any() and (np.abs(states.scores) < 15).any()
    longest = 0
    for row, position in enumerate(positions):
        known, judged = {}, {}
        for column in position.legal_columns():
            if column in position.winning_columns():
                known[column] = (STANDARD.cells + 1 - position.ply) // 2
            elif position.winning_columns():
                continue
            else:
                end, score = followed(position.play(column))
                is_own = (end.ply - position.ply) % 2 == 0
                longest = max(longest, end.ply - position.ply - 1)
                if score is None:
                    judged[column] = (end.position, end.mask, is_own)
                else:
                    known[column] = score if is_own else -score
        assert {c: s for c, s in enumerate(states.scores[row].tolist()) if s != UNRATED} == known
        if any(score > 0 for score in known.values()):
            judged = {}
        found = np.flatnonzero(states.rows == row)
        seen = zip(*(part[found].tolist() for part in (states.positions, states.masks, states.is_own)), strict=True)
        assert dict(zip(states.columns[found].tolist(), seen, strict=True)) == judged
    assert longest > 2


@pytest.mark.parametrize("layers", [(("dense", 20),), (("conv", 4), ("conv", 4))])
def test_a_network_that_evaluates_replies_keeps_the_rules(layers):
    """It wins where that is forced, loses by force only where it must, and as late as it can, and its value is that of
    where its policy goes."""
    torch.manual_seed(3)
    heads = (("move", 1), ("score", len(score_range(STANDARD))))
    network = Network(Architecture("lines-1", layers, heads))
    with torch.no_grad():
        parameters = dict(network.named_parameters())
        parameters["move_weight"].mul_(30)  # sure of one move
        parameters["score_weight"].mul_(10)
    plain, positions = MoveNetwork.from_bytes(network.to_bytes()), sample()
    outputs = plain.evaluate_many(*stones_of(positions))
    mirrored = plain.evaluate_many(*stones_of([p.mirror() for p in positions]))
    assert np.allclose(outputs["policy"], mirrored["policy"][:, ::-1], rtol=1e-4, atol=1e-4)
    assert outputs["policy"].shape == (len(positions), 7) and outputs["value"].shape == (len(positions), 3)
    states = afterstates(*stones_of(positions), STANDARD)
    seen = {"win": 0, "loss": 0, "else": 0}
    for row, position in enumerate(positions):
        policy, value, known = outputs["policy"][row], outputs["value"][row], states.scores[row].astype(int)
        results, asked = outputs["results"][row], states.columns[states.rows == row]
        assert (results[known != UNRATED] == np.sign(known[known != UNRATED])).all() and abs(results).max() <= 1 + 1e-6
        assert (np.delete(results, np.union1d(asked, np.flatnonzero(known != UNRATED))) == -1).all()
        column, judged = masked_argmax(policy, position), np.flatnonzero(states.rows == row)
        best = max((score for score in known if score != UNRATED), default=0)
        kind = "else" if judged.size else "win" if best > 0 else "loss"
        seen[kind] += 1
        if kind == "else":
            state = judged[states.columns[judged] == column]
            assert state.size == 1
            if policy[column] - np.sort(policy)[-2] > 20 or len(judged) == 1:
                end = Position(int(states.positions[state[0]]), int(states.masks[state[0]]), STANDARD)
                scores = softmax(plain.forward(both_views(encode(end, "lines-1")))["score"].mean(0)[None])[0]
                after = [part.sum() for part in np.split(scores, [len(scores) // 2, len(scores) // 2 + 1])]
                mine = after if states.is_own[state[0]] else after[::-1]
                assert np.allclose(mine, softmax(value[None])[0], atol=1e-4)
                assert np.isclose(results[column], mine[2] - mine[0], atol=1e-4)
        else:
            assert known[column] == best and value.argmax() == {"win": 2, "loss": 0}[kind]
            equals = np.flatnonzero((known == best) & states.blocks[row])
            assert kind == "win" or column in equals or not equals.size
    assert min(seen.values()) > 3
    won = next(position for position in positions if position.winning_columns())
    assert masked_argmax(plain.evaluate(won)["policy"], won) in won.winning_columns()  # no network is asked
    one = plain.evaluate(positions[5])
    assert np.allclose(one["policy"], outputs["policy"][5], rtol=1e-4, atol=1e-4)


def loses_after(position: Position) -> int:
    """The number of forced plies until the side to move in it wins with the next stone, all of them tried."""
    if position.winning_columns():
        return 0
    (answer,) = answers_of(position) or position.legal_columns()[:1]
    return 1 + loses_after(position.play(answer))


def test_a_forced_loss_is_put_off():
    """Where every move loses by force, but not after as many plies, the policy's is one of the slowest."""
    heads = (("move", 1), ("score", len(score_range(STANDARD))))
    plain = MoveNetwork.from_bytes(Network(Architecture("lines-1", (("dense", 4),), heads)).to_bytes())
    for stones, mask in ((5053568375064, 6571047247807), (167366409324194, 278143019569087)):
        position = Position(stones, mask, STANDARD)
        plies = {column: loses_after(position.play(column)) for column in position.legal_columns()}
        column = masked_argmax(plain.evaluate(position)["policy"], position)
        assert min(plies.values()) < plies[column] == max(plies.values())


def test_results_and_being_best_are_worth_something():
    """On the empty board: a move that wins for sure, one that draws for sure, and others that lose or win by chance."""
    states = afterstates(np.zeros(1, np.int64), np.zeros(1, np.int64), STANDARD)
    scores = score_range(STANDARD)
    theirs = np.stack([scores == -3, scores == 0, *[(scores == 9) / 2 + (scores == -9) / 2] * 5]).astype(np.float32)
    moves = chances_of_moves(theirs, states)
    assert moves.shape == (1, 7, len(scores)) and moves.sum(2) == pytest.approx(np.ones((1, 7)))
    assert chances_of_best(moves)[0] == pytest.approx([1 / 32, 0, *[1 / 2] * 5], abs=1e-6)  # a tie counts for both
    policy = policy_of(np.ones(7, np.float32), moves, states)[0]
    assert policy[:2] == pytest.approx([1 + RESULT_BONUS + BEST_BONUS / 32, 1], abs=1e-4)
    assert policy[2:] == pytest.approx(np.full(5, 1 + RESULT_BONUS / 2 + BEST_BONUS / 2), abs=1e-4)


def test_softmax_at_a_temperature():
    """Chances in proportion to exp(logit / temperature): at 2 the square root of what they are at 1."""
    logits = np.log([[1.0, 4.0, 16.0]])
    assert softmax(logits)[0] == pytest.approx(np.array([1, 4, 16]) / 21)
    assert softmax(logits, 2.0)[0] == pytest.approx(np.array([1, 2, 4]) / 7)


def test_int8_files_are_half_as_large_and_nearly_the_same():
    torch.manual_seed(4)
    network = Network(Architecture("fours-1", (("dense", 96), ("dense", 32))))
    contents = {dtype: network.to_bytes(dtype) for dtype in ("float16", "int8")}
    assert len(contents["int8"]) < 0.53 * len(contents["float16"])
    planes = encode_many(*stones_of(sample(games=2)), STANDARD, "fours-1")
    exact, rounded = (MoveNetwork.from_bytes(content).forward(planes)["value"] for content in contents.values())
    assert 0 < np.abs(exact - rounded).max() < 0.05 * np.abs(exact).max()
    again = Network.from_bytes(contents["int8"])
    assert again.architecture == network.architecture
    assert np.allclose(PlainNetwork(again.architecture, again.arrays()).forward(planes)["value"], rounded, atol=1e-6)


def test_lines_have_places_of_their_own():
    """A line of one colour of each length shows in its plane at its place and nowhere else, and only on 7x6."""
    assert len({tuple(places) for places in FOUR_PLACES.tolist()}) == 69 == len(set(FOURS.tolist()))
    assert (np.bitwise_count(FOURS) == 4).all() and (np.bitwise_count(FOUR_PLACES).sum(1) == 1).all()
    for position in sample(games=2):
        theirs, planes = position.position ^ position.mask, encode(position, "fours-1")[0]
        for (side, other), first in (((position.position, theirs), 9), ((theirs, position.position), 15)):
            counts = [(side & four).bit_count() for four in FOURS.tolist() if not other & four]
            for length in (1, 2, 3):
                shown = planes[first + 2 * (length - 1) : first + 2 * length]
                assert shown.sum() == counts.count(length)
    with pytest.raises(ValueError, match="'fours-1' is for the standard board"):
        encode(Position.empty(geometry_of(4, 5, 3)), "fours-1")


def test_overfits_one_batch():
    torch.manual_seed(1)
    positions = sample(games=2)[:32]
    planes = torch.from_numpy(encode_many(*stones_of(positions), STANDARD, "facts-1")).float()
    goal = torch.randint(7, (len(positions),))
    network = Network(Architecture("facts-1", (("conv", 16), ("conv", 4), ("dense", 32))))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(150):
        loss = torch.nn.functional.cross_entropy(network(planes)["policy"], goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 0.05
    assert (network(planes)["policy"].argmax(1) == goal).all()


def test_files_are_refused():
    """One clear line for a flipped bit, another architecture, another version of the encoding, other arrays."""
    architecture = Architecture("stones-1", (("dense", 8),))
    content = Network(architecture).to_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 4
    arrays, meta = unpack(content)
    newer = pack(arrays, meta | {"encoding": "stones-2"})
    fewer = pack({name: array for name, array in arrays.items() if name != "policy.bias"}, meta)
    for bad, message in [
        (bytes(flipped), "checksum"),
        (newer, "encoding 'stones-2' is unknown"),
        (fewer, "do not make a network"),
        (pack(arrays, {"layers": 3}), "not an architecture"),
        (b"PK not a container", "not a weight container"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            read_network(bad)
        assert "\n" not in str(caught.value)
    assert read_network(content)[0] == architecture


@pytest.mark.parametrize(
    "layers", [(("dense", 8), ("conv", 8)), (("conf", 8),), (("conv", 0),), (("pooled", 5),)], ids=str
)
def test_impossible_architectures(layers):
    with pytest.raises(ValueError, match="layer"):
        Architecture("stones-1", layers)


def test_masked_argmax_is_legal():
    full = Position.from_moves([3, 3, 3, 3, 3, 3], STANDARD)
    assert masked_argmax([0, 1, 2, 9, 4, 3, 0], full) == 4


def test_plain_networks_need_no_torch():
    code = "import sys, agents.value_search; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=60).returncode == 0


def test_operations_equal_torchs():
    rng, functional = np.random.default_rng(5), torch.nn.functional
    shapes = (6, 4), (6, 4, 5, 3), (3, 4), (2, 4, 3, 2), (4,), (4,), (4,), (4,)
    tensors = [torch.tensor(rng.normal(1, 1, shape), dtype=torch.float32) for shape in shapes]
    tensors[-1] = tensors[-1] ** 2
    x, images, weight, kernel, scale, shift, mean, variance = tensors
    arrays = [tensor.numpy() for tensor in tensors]
    numbers = arrays[4:]
    for found, expected in [
        (linear(arrays[0], arrays[2]), functional.linear(x, weight)),
        (
            conv2d(arrays[1], arrays[3], stride=(2, 1), padding=(1, 0)),
            functional.conv2d(images, kernel, stride=(2, 1), padding=(1, 0)),
        ),
        (layernorm(arrays[0], *numbers[:2], eps=0.1), functional.layer_norm(x, (4,), scale, shift, 0.1)),
        *(
            (
                batchnorm(each.numpy(), *numbers, eps=0.1),
                functional.batch_norm(each, mean, variance, scale, shift, eps=0.1),
            )
            for each in (x, images)
        ),
    ]:
        assert found == pytest.approx(expected.numpy(), rel=1e-4, abs=1e-4)


def test_a_network_of_steps_is_read_and_run():
    """As torch computes it; a file without steps, or with an unknown one, is refused."""
    rng, functional = np.random.default_rng(7), torch.nn.functional
    arrays = {"1.weight": rng.normal(size=(5, 4)), "3.weight": rng.normal(size=(2, 5)), "3.bias": rng.normal(size=2)}
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    steps = [["linear", [0], {}], ["relu", [1], {}], ["linear", [2], {}], ["add", [3, 3], {}]]
    network, x = Layers.from_bytes(pack(arrays, {"steps": steps})), rng.integers(-3, 3, (6, 4))
    first, second, bias = map(torch.tensor, arrays.values())
    hidden = functional.relu(functional.linear(torch.tensor(x, dtype=torch.float32), first))
    assert network(x) == pytest.approx(2 * functional.linear(hidden, second, bias).numpy(), rel=1e-4, abs=1e-5)
    for meta, words in (({}, "names none"), (["steps"], "names none"), ({"steps": [["warp", [0], {}]]}, "warp")):
        with pytest.raises(ValueError, match=words):
            Layers.from_bytes(pack(arrays, meta))


@pytest.mark.parametrize("shape", [(6, 7, 4), (5, 4, 3)], ids=str)
def test_cells_that_make_a_threat_are_what_trying_says(shape):
    """Of "lines-1", last, for each side: empty cells in a line that lacks two stones and has none of the other side."""
    geometry = geometry_of(*shape)
    rows, columns, inarow = shape
    for position in sample(geometry, 2):
        board = np.array(position.to_board()).reshape(rows, columns)[::-1]
        mover = 1 + position.ply % 2
        for plane, side in zip(encode(position, "lines-1")[0][-2:], (mover, 3 - mover), strict=True):
            expected = np.zeros((rows, columns), int)
            for row, column, (up, right) in product(range(rows), range(columns), [(0, 1), (1, 0), (1, 1), (1, -1)]):
                line = [(row + step * up, column + step * right) for step in range(inarow)]
                if all(0 <= r < rows and 0 <= c < columns for r, c in line):
                    stones = [board[cell] for cell in line]
                    if stones.count(0) == 2 and stones.count(side) == inarow - 2:
                        for cell in line:
                            expected[cell] |= board[cell] == 0
            assert (plane == expected).all()


def test_a_fresh_network_is_initialised_as_he_et_al_say():
    """The deviation of a trunk's weights is sqrt(2 / inputs) (2015), that of a head a tenth of it."""
    torch.manual_seed(6)
    network = dict(Network(Architecture("stones-1", (("dense", 200), ("dense", 300)))).named_parameters())
    spreads = {name: float(value.detach().std()) for name, value in network.items() if value.dim() > 1}
    inputs = {name: value[0].numel() for name, value in network.items()}
    for name, spread in spreads.items():
        share = 0.1 if name.split("_")[0] in ("policy", "value") else 1.0
        assert spread == pytest.approx(share * (2 / inputs[name]) ** 0.5, rel=0.1), name

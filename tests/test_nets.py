"""Encodings, networks in numpy and in torch, and the files that hold them."""

import dataclasses
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from connectx.encoding import ENCODINGS, bits_of, encode, encode_many
from connectx.geometry import STANDARD, geometry_of
from connectx.nets import Architecture, PlainNetwork, from_bytes, masked_argmax
from connectx.position import Position
from connectx.torch_nets import Network
from connectx.weights import pack, unpack
from tests.conftest import random_game

ROOT = Path(__file__).parent.parent
LAYERS = [
    (("conv", 8), ("residual", 8), ("point", 3), ("dense", 16)),
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
    plain = PlainNetwork.from_bytes(network.to_bytes(), network.architecture)
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
    plain = PlainNetwork.from_bytes(Network(Architecture("facts-1", (("conv", 6), ("dense", 20)))).to_bytes())
    positions = sample(games=3)
    outputs = plain.judge_many(*stones_of(positions))
    mirrored = plain.judge_many(*stones_of([p.mirror() for p in positions]))
    assert np.allclose(outputs["policy"], mirrored["policy"][:, ::-1], atol=1e-6)
    assert np.allclose(outputs["value"], mirrored["value"], atol=1e-6)
    assert np.allclose(plain.judge(positions[5])["policy"], outputs["policy"][5], atol=1e-6)
    planes = encode_many(*stones_of(positions), STANDARD, "facts-1")
    one_way, other_way = plain.forward(planes)["policy"], plain.forward(planes[..., ::-1])["policy"][:, ::-1]
    assert np.allclose(outputs["policy"], (one_way + other_way) / 2, atol=1e-6) and (one_way != other_way).any()


def test_overfits_one_batch():
    torch.manual_seed(1)
    positions = sample(games=2)[:32]
    planes = torch.from_numpy(encode_many(*stones_of(positions), STANDARD, "facts-1")).float()
    goal = torch.randint(7, (len(positions),))
    network = Network(Architecture("facts-1", (("conv", 16), ("point", 4), ("dense", 32))))
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
    other = dataclasses.replace(architecture, layers=(("dense", 9),))
    for bad, expected, message in [
        (bytes(flipped), None, "checksum"),
        (newer, None, "encoding 'stones-2' is unknown"),
        (fewer, None, "do not make a network"),
        (pack(arrays, {"layers": 3}), None, "not an architecture"),
        (content, other, "expected Architecture"),
        (b"PK not a container", None, "not a weight container"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            from_bytes(bad, expected)
        assert "\n" not in str(caught.value)
    assert from_bytes(content, architecture)[0] == architecture


@pytest.mark.parametrize(
    "layers", [(("dense", 8), ("conv", 8)), (("conf", 8),), (("conv", 0),), (("conv", 4), ("residual", 5))], ids=str
)
def test_impossible_architectures(layers):
    with pytest.raises(ValueError, match="layer"):
        Architecture("stones-1", layers)


def test_masked_argmax_is_legal():
    full = Position.from_moves([3, 3, 3, 3, 3, 3], STANDARD)
    assert masked_argmax([0, 1, 2, 9, 4, 3, 0], full) == 4


def test_plain_networks_need_no_torch():
    code = "import sys, agents.policy, agents.value_search; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, timeout=60).returncode == 0

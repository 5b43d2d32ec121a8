"""The weight container, reduced precision, and data read beside the source."""

import hashlib
import io

import numpy as np
import pytest

from connectx_core.weights import (
    COMPRESSED,
    MAGIC,
    compress,
    pack,
    read_data,
    reduce,
    reduction_error,
    restore_precision,
    unpack,
)

ARRAYS: dict[str, np.ndarray] = {
    "matrix": np.random.default_rng(1).normal(0, 0.2, (8, 5)).astype(np.float32),
    "vector": np.linspace(-3, 3, 7),
    "counts": np.arange(6, dtype=np.int16).reshape(2, 3),
    "empty": np.zeros((0, 3), np.float32),
    "scalar": np.array(2.5, np.float64),
    "flags": np.array([True, False]),
}


def as_npz(arrays) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def reduced(content: bytes, dtype: str) -> bytes:
    smaller = reduce(content, dtype)
    assert smaller is not None
    return smaller


def read_npz(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
        return dict(loaded)


def test_round_trip_is_exact_and_deterministic():
    content = pack(ARRAYS, {"encoding": 3, "name": "é"})
    arrays, meta = unpack(content)
    assert meta == {"encoding": 3, "name": "é"} and list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype and np.array_equal(arrays[name], array)
    assert pack(arrays, meta) == content


def test_big_endian_arrays_come_back_equal():
    arrays, _ = unpack(pack({"x": np.array([1.5, -2], ">f4")}))
    assert np.array_equal(arrays["x"], [1.5, -2])


def test_objects_are_refused():
    with pytest.raises(ValueError, match="dtype object"):
        pack({"x": np.array([{}])})


def test_every_flipped_bit_is_noticed():
    """Those of the header, too: a name or the meta cannot turn into another."""
    content = pack({"x": np.arange(4, dtype=np.float32)}, {"note": "n"})
    for place in range(8 * len(content)):
        broken = bytearray(content)
        broken[place // 8] ^= 1 << place % 8
        with pytest.raises(ValueError, match="not a weight container"):
            unpack(bytes(broken))


def test_a_compressed_container_is_the_same_in_fewer_bytes():
    content = pack({"x": np.zeros(500, np.int8)} | ARRAYS, {"note": "n"})
    smaller = compress(content)
    assert len(smaller) < 0.8 * len(content) and smaller[:4] == COMPRESSED
    (arrays, meta), (found, noted) = unpack(content), unpack(smaller)
    assert meta == noted and all(np.array_equal(found[name], array) for name, array in arrays.items())
    assert unpack(restore_precision(compress(reduced(content, "int8"))))[1] == {"note": "n"}


def test_no_flipped_bit_changes_what_a_compressed_container_holds():
    """Most are noticed; a few bits of the stream mean nothing."""
    smaller, noticed = compress(pack({"x": np.arange(40)})), 0
    for place in range(8 * len(smaller)):
        broken = bytearray(smaller)
        broken[place // 8] ^= 1 << place % 8
        try:
            assert unpack(bytes(broken))[0]["x"].tolist() == list(range(40))
        except ValueError as fault:
            assert "not a weight container" in str(fault)
            noticed += 1
    assert noticed > 8 * len(smaller) - 16


def test_a_compressed_container_cannot_fill_the_memory(monkeypatch):
    monkeypatch.setattr("connectx_core.weights.LARGEST", 1000)
    with pytest.raises(ValueError, match="hold more than 1000"):
        unpack(compress(pack({"x": np.zeros(2000, np.int8)})))


def sealed(checked: bytes) -> bytes:
    """A container of this header's length, header and arrays, with the right checksum."""
    return MAGIC + hashlib.sha256(checked).digest() + checked


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda c: b"", "begins with"),
        (lambda c: b"PK" + c, "begins with"),
        (lambda c: c[:6], "within the header"),
        (lambda c: c[:36] + b"\xff\xff\xff\x7f" + c[40:], "within the header"),
        (lambda c: sealed(c[36:].replace(b'"arrays"', b'"arrayz"')), "unreadable header"),
        (lambda c: sealed(c[36:].replace(b'{"arrays"', b'["arrays"')), "unreadable header"),
        (lambda c: sealed(b"\x02\0\0\0[]"), "unreadable header"),
        (lambda c: c[:-1], "checksum"),
        (lambda c: c + b"x", "checksum"),
        (lambda c: sealed(c[36:].replace(b"float32", b"float99")), "dtype"),
        (lambda c: sealed(c[36:].replace(b'"shape":[4]', b'"shape":[3]')), "too many"),
        (lambda c: sealed(c[36:].replace(b'"shape":[4]', b'"shape":[5]')), "beyond"),
    ],
)
def test_damage_is_said(damage, reason):
    with pytest.raises(ValueError, match=reason):
        unpack(damage(pack({"x": np.arange(4, dtype=np.float32)})))


@pytest.mark.parametrize("form", ["npz", "container"])
@pytest.mark.parametrize(("dtype", "bound"), [("float16", 1e-3), ("int8", 1e-2)])
def test_reduced_weights_come_back_in_their_own_dtypes(form, dtype, bound):
    content = as_npz(ARRAYS) if form == "npz" else pack(ARRAYS, {"a": 1})
    smaller = reduced(content, dtype)
    after = read_npz(restore_precision(smaller)) if form == "npz" else unpack(restore_precision(smaller))[0]
    assert {name: array.dtype for name, array in after.items()} == {n: a.dtype for n, a in ARRAYS.items()}
    assert np.array_equal(after["counts"], ARRAYS["counts"]) and np.array_equal(after["flags"], ARRAYS["flags"])
    largest, relative = reduction_error(content, smaller)
    assert 0 < relative < bound
    assert np.abs(after["matrix"] - ARRAYS["matrix"]).max() <= largest < 2 * bound
    if form == "container":
        assert unpack(restore_precision(smaller))[1] == {"a": 1}


def test_int8_error_is_within_half_a_step_of_each_row():
    matrix = ARRAYS["matrix"] * np.array([[1], [100], [1e-3], [0], [1], [5], [1], [1]], np.float32)
    after = unpack(restore_precision(reduced(pack({"m": matrix}), "int8")))[0]["m"]
    assert (np.abs(after - matrix).max(axis=1) <= np.abs(matrix).max(axis=1) / 127 * 0.501).all()


def test_pickles_are_never_loaded():
    file = io.BytesIO()
    np.savez(file, x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        reduce(file.getvalue(), "float16")


def test_read_data_is_beside_the_caller(tmp_path):
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "w.bin").write_bytes(b"\x00\x01")

    def ask(name: str, file: str) -> bytes:
        return eval(compile(f"read_data({name!r})", file, "eval"), {"read_data": read_data})

    assert ask("weights/w.bin", str(tmp_path / "agent.py")) == b"\x00\x01"
    with pytest.raises(FileNotFoundError):
        ask("other.bin", str(tmp_path / "agent.py"))
    with pytest.raises(RuntimeError, match="needs a source file"):
        ask("w.bin", "<cell>")

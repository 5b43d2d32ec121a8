"""What a notebook's values become in a file, and what reading it gives; no kernel is needed."""

import io
import json
import re
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from connectx_core.carried import VALUES, Carried
from connectx_toolkit.builder.notebook.carrying import Uncarried, Values, literal_of

Move = namedtuple("Move", "column score")


class Node:
    def __init__(self, value: Any, parent: "Node | None" = None):
        self.value, self.parent = value, parent
        self.children: list[Node] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


class Slotted:
    __slots__ = ("a", "b")


def again(value: Any) -> Any:
    """A value that was written and read."""
    names: dict[str, Any] = {}

    def name_of(held: Any) -> str:
        names[f"name{len(names)}"] = held
        return f"name{len(names) - 1}"

    values = Values(name_of, lambda held: "", lambda text: None)
    values.add("value", value, "value")
    return Carried(values.content(), names)["value"]


TREE = Node(1)
TREE.children = [Node(2, TREE), Node(3, TREE)]
VALUES_OF_USERS = {
    "plain": [None, True, 3, -(2**70), 0.1, float("inf"), 'é\n"', b"\x00\xff", 1 + 2j, (), (1, (2,)), [1, [2]], {1, 2}],
    "keys": {(1, 2): "a", 3: "b", None: "c", "d": {frozenset({1}): 4}},
    "containers": [deque([1, 2], 5), defaultdict(list, {1: [2]}), Counter("aab"), OrderedDict(a=1), bytearray(b"x")],
    "of the library": [date(2026, 11, 26), Fraction(1, 3), re.compile("a+"), Move(3, 0.5), range(3), slice(1, 2), ...],
    "numbers of numpy": [np.float32(0.1), np.int8(-3), np.bool_(True), np.dtype("int8")],
}


@pytest.mark.parametrize("name", VALUES_OF_USERS)
def test_values_are_as_they_were(name):
    value = VALUES_OF_USERS[name]
    found = again(value)
    assert found == value and repr(found) == repr(value)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float16", "float64", "complex64", "<U3", "datetime64[D]", "i4,f8"]
)
def test_arrays(dtype):
    array = np.zeros((2, 3), dtype)
    found = again({"a": array, "b": [array, array.T]})
    assert found["a"].dtype == array.dtype and found["a"].shape == (2, 3) and found["b"][1].shape == (3, 2)
    assert found["a"] is found["b"][0] and np.shares_memory(found["a"], found["b"][1])


def test_arrays_share_memory_as_they_did():
    """Fields of records, tensors and views of any direction; a lone column does not bring its table."""
    import torch

    pool, table = np.zeros(5, [("visits", "f8"), ("wins", "i4", (2,))]), np.arange(6_000_000.0).reshape(-1, 100)
    plane = np.zeros((2, 3), np.float32, order="F")
    held = [pool, pool["visits"], pool["wins"][::-1], plane, torch.from_numpy(plane), table[:, 3], np.zeros((0, 3))]
    values = Values(str, lambda held: "", lambda text: None)
    values.add("table", table[:, 3], "table")
    assert len(values.content()) < table.nbytes / 10
    pool, visits, wins, plane, tensor, column, empty = again(held)
    pool["visits"][2], wins[0, 1], plane[1, 2] = 7, 8, 9
    assert visits[2] == 7 and pool["wins"][4, 1] == 8 and tensor[1, 2] == 9 and plane.flags.f_contiguous
    assert (column == table[:, 3]).all() and empty.shape == (0, 3)


def test_a_long_chain():
    """Longer than Python's stack."""
    last = first = Node(0)
    for number in range(50_000):
        last.parent = Node(number)
        last = last.parent
    found, count = again(first), 0
    while found is not None:
        found, count = found.parent, count + 1
    assert count == 50_001


def test_what_no_file_can_hold_is_left_out_of_an_object():
    """Wherever it lies below the attribute; a list of such is refused, since nobody would miss what is not there."""
    value: Any = Slotted()
    value.a, value.b = [1, TREE], {"deep": [[1], (n for n in [1])]}
    notes = list[str]()
    values, names = (
        Values(lambda held: held.__name__, lambda held: "", notes.append),
        {"Slotted": Slotted, "Node": Node},
    )
    values.add("value", [value, value], "mine")
    found = Carried(values.content(), names)["value"]
    assert found[0] is found[1] and found[0].a[1].children[1].value == 3 and not hasattr(found[0], "b")
    (line,) = values.left_out()
    assert line.startswith("Slotted.b left out: mine[0].b['deep'][1] is a generator, which cannot be carried")
    with pytest.raises(Uncarried, match=r"^other\[1\] is a generator"):
        values.add("other", [1, (n for n in [1])], "other")
    assert list(values.roots) == ["value"]


def test_generators_go_on_where_they_were():
    """Those of numpy and torch."""
    import torch

    generators: list[Any] = [
        np.random.default_rng(1),
        np.random.RandomState(2),
        np.random.Generator(np.random.MT19937(3)),
    ]
    for each in generators:
        each.normal(size=3)
        assert (again(each).normal(size=5) == each.normal(size=5)).all()
    of_torch = torch.Generator()
    of_torch.manual_seed(4)
    assert (torch.rand(5, generator=again(of_torch)) == torch.rand(5, generator=of_torch)).all()


SEEN = set(range(200))
for number in {*range(200)} - {64, 8, 130, 3}:
    SEEN.discard(number)


@pytest.mark.parametrize("seen", [SEEN, frozenset(SEEN), {("left", 1), ("right", 2)}, {None, 1}, {frozenset("ab"), 1}])
def test_a_set_in_another_order_is_noted(seen):
    notes = list[str]()
    Values(str, lambda held: "", notes.append).add("seen", seen, "seen")
    assert again(seen) == seen and notes[0] == (
        "seen is a set whose order differs in the file: sort it where the order matters"
    )


@pytest.mark.parametrize("seen", [{3, 1, 2}, {(1, (2.5, True)), (3, 4)}, {"one"}, {np.int64(3), 5}])
def test_a_set_in_the_same_order_is_not(seen):
    notes = list[str]()
    Values(str, lambda held: "", notes.append).add("seen", seen, "seen")
    assert notes == []


class Counted(list):
    total = 0

    def append(self, value):
        super().append(value)
        self.total += value


def test_subclasses_are_filled_by_their_base():
    counted = Counted()
    counted.append(3)
    found = again([counted, 1 << 20_000])
    assert found[0] == [3] and found[0].total == 3 and found[1] == 1 << 20_000


@pytest.mark.parametrize("value", [open, lambda: 0, Node])
def test_functions_and_classes_are_names(value):
    """And nothing but: not a byte of code is in the file."""
    values = Values(lambda held: "chosen", lambda held: "", lambda text: None)
    values.add("value", [value], "value")
    assert json.loads(np.load(io.BytesIO(values.content()))[VALUES].tobytes())["nodes"] == [["list", ["n", "chosen"]]]
    assert Carried(values.content(), {"chosen": 7})["value"] == [7]


def test_literals():
    """Of values that nothing can change: what several hold stays one."""
    for value in [1, "a", (1.5, (2,)), (), -0.0, None, b"x", True]:
        assert repr(eval(literal_of(value))) == repr(value)
    assert eval(literal_of((float("nan"), float("-inf"))))[1] == -np.inf
    others: list[Any] = [np.float64(1), (1,) * 1000, "a" * 1000, Move(1, 2), [1], {}, set(), ([],), object()]
    for value in others:
        assert literal_of(value) == ""


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip"])
def test_what_is_no_file_of_values(content):
    with pytest.raises((ValueError, EOFError, OSError)):
        Carried(content, {})


def test_pickled_arrays_are_not_read():
    file = io.BytesIO()
    arrays: dict[str, Any] = {VALUES: np.array([object()], object)}
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match="allow_pickle"):
        Carried(file.getvalue(), {})

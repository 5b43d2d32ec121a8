"""Writes the values of a running notebook for its agent: short ones as literals, all others into one .npz.

``writing`` collects them in ``Values``; the built agent reads them by ``connectx_core.carried``, which describes the
file. Any object other than a number, a text, a container of these or an array is taken apart as Python's copying does
it (``__reduce_ex__``): a function or class, which the agent's file names, with arguments and a state. So the file holds
no code, and what cannot be taken apart is refused.
"""

import copyreg
import io
import json
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection
from functools import _lru_cache_wrapper
from hashlib import sha256
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NewType, TypeVar

import numpy as np

from connectx_core.carried import MEMORY, VALUES
from connectx_toolkit.builder.notebook import predictors
from connectx_toolkit.builder.notebook.memory import memory_of
from connectx_toolkit.builder.source.refusals import Refused

LITERAL = 400  # characters of the longest value that stands in the source
BITS = 64  # of the longest integer that is a number of the JSON; Python writes none of more than 4,300 digits
NAMED_TYPES = (type, FunctionType, ModuleType, BuiltinFunctionType, np.ufunc, _lru_cache_wrapper, TypeVar, NewType)
# Packages whose objects are refused, and what to hold in their place.
REFUSED_PACKAGES = {
    "pandas": "give the agent a dict or an array",
    "numba.typed": "make it inside a function",
    "weakref": "hold the object itself, or a dict",
}
WITH_VALUE: tuple[Any, ...] = (int, float, complex, str, bytes, tuple)  # make their subclasses, too
OF_MODULES = ("_parameters", "_buffers", "_modules")  # attributes without which a module of torch is none
NUMBER_KINDS = "biuf"  # kinds of numpy's dtypes
LEFT_OUT = "left out"
UNORDERED = "{} is a set whose order differs in the file: sort it where the order matters"


class Uncarried(Exception):
    """A value cannot be carried; with why."""


def literal_of(value: Any) -> str:
    """Python's text for a short plain value that nothing can change, "" for any other."""
    kind, text = type(value), ""
    size = value.bit_length() if kind is int else len(value) if kind in (str, bytes, tuple) else 0
    if size >= LITERAL:
        return ""
    if kind is float and not np.isfinite(value):
        text = f'float("{value}")'
    elif kind in (type(None), bool, int, float, str, bytes):
        text = repr(value)
    elif kind is tuple:
        parts = [literal_of(each) for each in value]
        text = f"({', '.join(parts)}{',' * (len(parts) == 1)})" if all(parts) else ""
    return text if len(text) <= LITERAL else ""


def type_name(value: Any) -> str:
    """The dotted name of a value's type."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def qualified_name(value: Any) -> str:
    """What tells a function, a class or a module from others, where it need not be found again."""
    return f"{getattr(value, '__module__', '')} {getattr(value, '__qualname__', getattr(value, '__name__', ''))}"


class Values:
    """The values of an agent's file, as they are added.

    An attribute of an object is left out if it cannot be carried, and that is noted. Anything else is refused.

    Args:
        name_of: gives the name in the agent's file for a function, a class or a module, which it then holds. It may
            raise Refused.
        lacks: why a submission cannot import what defines a function, a class or a module; "" if it can.
        note: called with what people should know.
    """

    def __init__(self, name_of: Callable[[Any], str], lacks: Callable[[Any], str], note: Callable[[str], None]) -> None:
        self._name_of, self._lacks, self._note = name_of, lacks, note
        self.roots: dict[str, Any] = {}
        self._nodes: list[Any] = []
        self._arrays: dict[int, tuple[np.ndarray, str]] = {}  # node -> the array, and its path
        self._numbers: dict[int, int] = {}  # id of an object -> its node
        self._whole: dict[int, int] = {}  # of these, what was added with all that it holds
        self._alive: list[Any] = []  # or an id could be another's
        self._paths: dict[int, str] = {}  # of the nodes
        self._pending: list[tuple[int, Any, str, tuple[str, str]]] = []
        self._attribute = ("", "")  # class and name of the attribute that holds what is being added, if one does
        self._left_out: dict[tuple[str, str], str] = {}

    def add(self, name: str, value: Any, path: str) -> None:
        """Adds a value under a name. Raises Uncarried with the path of what cannot be carried, or Refused."""
        outer = self._pending, self._attribute  # a class that is written meanwhile has values, too
        while True:
            self._pending, self._attribute = [], ("", "")
            before, count = dict(self._numbers), len(self._nodes)
            try:
                self.roots[name] = None
                self.roots[name] = self._ref(value, path)
                while self._pending:
                    number, held, place, self._attribute = self._pending.pop()
                    self._nodes[number] = self._node(number, held, place)
                self._whole |= {key: number for key, number in self._numbers.items() if number >= count}
                self._pending, self._attribute = outer
                return
            except (Uncarried, Refused) as fault:
                whole = {key: number for key, number in self._whole.items() if number >= count}
                for number in {*range(count, len(self._nodes))} - {*whole.values()}:
                    self._nodes[number] = None
                    self._arrays.pop(number, None)
                self._numbers = before | whole
                del self.roots[name]
                if self._attribute == ("", ""):
                    self._pending, self._attribute = outer
                    raise
                self._left_out[self._attribute] = str(fault)

    def content(self) -> bytes:
        """The file."""
        memory, file = self._memory(), io.BytesIO()
        text = json.dumps({"roots": self.roots, "nodes": self._nodes}, separators=(",", ":")).encode()
        arrays: dict[str, Any] = {VALUES: np.frombuffer(text, np.uint8), MEMORY: np.frombuffer(memory, np.uint8)}
        np.savez_compressed(file, **arrays)
        return file.getvalue()

    def digest(self) -> str:
        """What tells these values from others."""
        memory = self._memory()  # first: it completes the nodes
        return sha256(json.dumps([self.roots, self._nodes]).encode() + memory).hexdigest()

    def _memory(self) -> bytes:
        """The bytes of the arrays, whose nodes get their places in it."""
        memory, places = memory_of({number: array for number, (array, _) in self._arrays.items()})
        for number, place in places.items():
            self._nodes[number][3:] = place
        return memory

    def left_out(self) -> list[str]:
        """What of objects is left out, a line for each attribute."""
        return [f"{cls}.{name} {LEFT_OUT}: {why}" for (cls, name), why in sorted(self._left_out.items())]

    def objects(self) -> list[tuple[int, Any]]:
        """Those that have a node in the file, with its number."""
        held = {self._numbers[id(value)]: value for value in self._alive if id(value) in self._numbers}
        return [(number, value) for number, value in held.items() if self._nodes[number] is not None]

    def path_of(self, number: int) -> str:
        """Where the object of a node was found first."""
        return self._paths[number]

    def largest(self) -> str:
        """The largest array, in words."""
        array, path = max(self._arrays.values(), key=lambda held: held[0].nbytes, default=(np.zeros(0), "no array"))
        return f"{path}, {array.nbytes:,} bytes of {array.dtype}"

    def _ref(self, value: Any, path: str) -> Any:
        kind = type(value)
        if kind is int and value.bit_length() > BITS:
            return ["i", hex(value)]
        if value is None or kind in (bool, int, float, str):
            return value
        if kind in (tuple, frozenset):
            self._note_order(value, path)
            return ["t" if kind is tuple else "z", *(self._ref(each, path) for each in _in_order(value))]
        if kind is bytes:
            return ["b", value.hex()]
        if kind is complex:
            return ["c", value.real, value.imag]
        is_number = isinstance(value, np.generic) and value.dtype.kind in NUMBER_KINDS and kind.__module__ == "numpy"
        if is_number and isinstance(value.item(), int | float):  # and no longdouble
            return ["s", value.dtype.str, value.item()]
        if isinstance(value, NAMED_TYPES) and isinstance(getattr(value, "__self__", None), ModuleType | None):
            if self._attribute != ("", "") and (why := self._lacks(value)):
                raise Uncarried(f"{path} needs {why}")
            return ["n", self._name_of(value)]
        if id(value) not in self._numbers:
            self._alive.append(value)
            number = self._numbers[id(value)] = len(self._nodes)
            self._nodes.append(None)
            self._paths[number] = path
            self._pending.append((number, value, path, self._attribute))
        return ["@", self._numbers[id(value)]]

    def _note_order(self, value: Any, path: str) -> None:
        is_set = isinstance(value, set | frozenset)
        if is_set and len(value) > 1 and (not _is_ordered(value) or list(type(value)([*value])) != list(value)):
            self._note(UNORDERED.format(path))

    def _node(self, number: int, value: Any, path: str) -> list[Any]:
        kind = type(value)
        if kind in (list, set):
            self._note_order(value, path)
            return [kind.__name__, *(self._ref(each, f"{path}[{n}]") for n, each in enumerate(_in_order(value)))]
        if kind is dict:
            return ["dict", *self._pairs(value.items(), path)]
        if kind is bytearray:
            return ["bytearray", value.hex()]
        if kind in (np.ndarray, np.memmap):
            return self._array(number, np.asarray(value), path)
        if kind is np.random.Generator:  # several may draw from one stream of bits
            return self._call(kind, self._ref(value.bit_generator, path))
        if isinstance(value, np.random.BitGenerator):
            return self._call(kind, state=self._ref(value.state, path))
        if kind is np.random.RandomState:
            state = self._ref(value.get_state(legacy=False), path)
            return self._call(kind, self._ref(value._bit_generator, path), state=state)
        if kind is MethodType and not _is_found_by_name(value):
            raise Uncarried(f"{path} is a method that its class does not have: write it into the class")
        for package, cure in REFUSED_PACKAGES.items():
            if f"{kind.__module__}.".startswith(f"{package}."):
                raise Uncarried(f"{path} is a {package.replace('.', ' ')} {kind.__name__}: {cure}")
        if predictors.is_algorithm(value):
            return self._predictor(value, path)
        node = self._of_torch(value, path) if kind.__module__.partition(".")[0] == "torch" else None
        return node or self._take_apart(value, path)

    def _array(self, number: int, array: np.ndarray, path: str) -> list[Any]:
        if array.dtype == object:
            return ["objects", list(array.shape), *(self._ref(each, path) for each in array.ravel())]
        if array.dtype.hasobject:
            raise Uncarried(f"{path} is an array of records with objects in them: make an array for each field")
        self._arrays[number] = array, path
        return ["array", repr(np.lib.format.dtype_to_descr(array.dtype)), list(array.shape)]

    def _call(self, function: Any, *refs: Any, state: Any = None) -> list[Any]:
        return ["call", ["n", self._name_of(function)], list(refs), state, [], []]

    def _pairs(self, pairs: Any, path: str) -> list[Any]:
        entries = ((key, value, f"{path}[{literal_of(key) or '...':.30}]") for key, value in pairs)
        return [ref for key, value, place in entries for ref in (self._ref(key, path), self._ref(value, place))]

    def _predictor(self, value: Any, path: str) -> list[Any]:
        from connectx_core.predictor import Predictor

        try:
            content, settings = predictors.parts_of(value)
        except predictors.NoPredictor as fault:
            raise Uncarried(f"{path} {fault}") from None
        self._note(f"{path}: of {type_name(value)}, predict() as its network computes it, in numpy or TorchScript")
        network = np.frombuffer(content, np.uint8)
        return self._call(Predictor, self._ref(network, f"{path}.network"), self._ref(settings, path))

    def _of_torch(self, value: Any, path: str) -> list[Any] | None:
        """The node of a tensor or a device; None of anything else."""
        import torch

        if type(value) is torch.nn.Parameter:
            return self._call(type(value), self._ref(value.detach(), path), value.requires_grad)
        if type(value) is torch.device:
            return self._call(torch.device, "cpu")
        if type(value) is not torch.Tensor:
            return None
        if value.requires_grad and value.is_leaf:
            return ["call", self._ref(value.detach().requires_grad_, path), [True], None, [], []]
        try:
            array = value.detach().cpu().numpy()
        except (TypeError, RuntimeError) as fault:
            raise Uncarried(f"{path} is a tensor that numpy has no type for ({fault}): .float() makes one") from None
        return self._call(torch.from_numpy, self._ref(array, path))

    def _take_apart(self, value: Any, path: str) -> list[Any]:
        """Any other object, as Python's copying takes it apart."""
        kind: Any = type(value)
        try:
            take_apart = copyreg.dispatch_table.get(kind)
            parts = take_apart(value) if take_apart else value.__reduce_ex__(2)
        except Exception as fault:  # their code may raise anything, as a dict whose attributes are its keys does
            if not isinstance(value, dict):
                what = type_name(value).removeprefix("builtins.").removeprefix("__main__.")
                why = str(fault).partition("\n")[0]
                raise Uncarried(f"{path} is a {what}, which cannot be carried ({why})") from None
            parts = copyreg.__newobj__, (kind,), vars(value), None, value.items()  # type: ignore[attr-defined]
        if isinstance(parts, str):
            return self._call(getattr, ["n", self._name_of(sys.modules[kind.__module__])], parts)
        function, arguments, state, items, pairs = (*parts, None, None, None)[:5]
        refs = [self._ref(each, path) for each in arguments]
        if function is copyreg.__newobj__:  # type: ignore[attr-defined]
            bases = (base for base in WITH_VALUE if isinstance(value, base))
            base = next((base for base in bases if kind.__getnewargs__ is base.__getnewargs__), None)
            made = ["call", ["n", f"{self._name_of(base)}.__new__"], refs] if base else ["new", refs[0], refs[1:]]
        elif function is kind and not refs and isinstance(value, OrderedDict):
            made = ["new", self._ref(kind, path), []]  # its __init__ may want a size
        else:
            made = ["call", ["n", self._name_of(function)], refs]
        listed = [self._ref(each, f"{path}[{n}]") for n, each in enumerate(items or ())]
        keyed = self._pairs(pairs or (), path)
        return [*made, self._state(value, state, path), listed, keyed]

    def _state(self, value: Any, state: Any, path: str) -> Any:
        is_plain = _is_module(value) or not hasattr(type(value), "__setstate__")
        if state is None or not is_plain:
            return None if state is None else self._ref(state, path)
        if isinstance(state, tuple):
            return ["t", *(None if part is None else self._attributes(value, part, path) for part in state)]
        return self._attributes(value, state, path)

    def _attributes(self, value: Any, state: dict[str, Any], path: str) -> list[Any]:
        refs, outside = ["d"], self._attribute
        for name, held in state.items():
            is_needed = name in OF_MODULES
            self._attribute = outside if is_needed else (type(value).__name__, name)
            if is_needed or self._attribute not in self._left_out:
                refs += [name, self._ref(held, path if is_needed else f"{path}.{name}")]
        self._attribute = outside
        return refs


def _is_found_by_name(method: MethodType) -> bool:
    """Whether the class of a bound method has its function under the function's name."""
    owner = method.__self__
    attribute = getattr(owner if isinstance(owner, type) else type(owner), method.__name__, None)
    return getattr(attribute, "__func__", attribute) is method.__func__


def _is_ordered(value: Any) -> bool:
    """Whether the hash of a value, or a set's order, is the same in each process, as that of numbers is."""
    if isinstance(value, tuple | set | frozenset) and type(value) in (tuple, set, frozenset):
        return all(map(_is_ordered, value))
    return type(value) in (bool, int, float, complex) or isinstance(value, np.number)


def _in_order(value: Collection[Any]) -> Collection[Any]:
    """The elements of a container; those of a set without an order are sorted: the same values give the same bytes."""
    return sorted(value, key=literal_of) if isinstance(value, set | frozenset) and not _is_ordered(value) else value


def _is_module(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)

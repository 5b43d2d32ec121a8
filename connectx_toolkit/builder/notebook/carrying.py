"""Values of a running notebook as a built agent holds them: short ones as literals, others in one .npz without code.

``connectx.carried`` says what is in the file, and reads it. What is neither a number, a text, a container of these nor
an array is taken apart as Python's copying does it (``__reduce_ex__``): a function or class, which the agent's file
names, with arguments and a state. So no code is in the file, and what cannot be taken apart is refused.
"""

import base64
import copyreg
import io
import json
import sys
import threading
from collections.abc import Callable, Collection
from functools import _lru_cache_wrapper
from hashlib import sha256
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NewType, TypeVar
from weakref import ReferenceType

import numpy as np

from connectx.carried import VALUES, generator
from connectx_toolkit.builder.notebook import predictors
from connectx_toolkit.builder.source.refusals import Refused

LITERAL = 400  # characters of the longest value that stands in the source
NAMED = (type, FunctionType, ModuleType, BuiltinFunctionType, np.ufunc, _lru_cache_wrapper, TypeVar, NewType)
# Modules, and the generators that their functions draw from, which a file has, too.
GLOBAL = {"random": "_inst", "numpy.random.mtrand": "_rand", "torch": "default_generator"}
WRAPPING = {staticmethod: ("__func__",), classmethod: ("__func__",), property: ("fget", "fset", "fdel")}
ON_SAVING = ("state_dict", "load_state_dict")  # in the names of hooks that no step of a game calls
LOCKS = {"_thread.lock": "Lock", "_thread.RLock": "RLock"}  # type -> what of threading makes a new one
SHARED = 1 << 20  # bytes: so large an array is carried whole, with a view of it that is smaller
RECURRENT = "_flat_weight_refs"  # weak references to weights, by which a GRU sees whether others came in their place
MODULE_STATE = ("training", "_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
NUMBERS = "biuf"  # kinds of numpy's dtypes
UNORDERED = "{} is a set whose order differs in the file: sort it where the order matters"


class Uncarried(Exception):
    """A value cannot be carried; with why."""


def literal(value: Any) -> str:
    """Python's text for a short plain value that nothing can change, "" for any other."""
    kind, text = type(value), ""
    if kind is float and not np.isfinite(value):
        text = f'float("{value}")'
    elif kind in (type(None), bool, int, float) or (kind in (str, bytes) and len(value) < LITERAL):
        text = repr(value)
    elif kind is tuple and len(value) < LITERAL:
        parts = [literal(each) for each in value]
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
        self._arrays: dict[str, np.ndarray] = {}
        self._numbers: dict[int, int] = {}  # id of an object -> its node
        self._whole: dict[int, int] = {}  # of these, what was added with all that it holds
        self._alive: list[Any] = []  # or an id could be another's
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
                    self._nodes[number] = self._node(held, place)
                self._whole |= {key: number for key, number in self._numbers.items() if number >= count}
                self._pending, self._attribute = outer
                return
            except (Uncarried, Refused) as fault:
                whole = {key: number for key, number in self._whole.items() if number >= count}
                for number in {*range(count, len(self._nodes))} - {*whole.values()}:
                    if self._nodes[number] and self._nodes[number][0] == "array":
                        del self._arrays[self._nodes[number][1]]
                    self._nodes[number] = None
                self._numbers = before | whole
                del self.roots[name]
                if self._attribute == ("", ""):
                    self._pending, self._attribute = outer
                    raise
                self._left_out[self._attribute] = str(fault)

    def content(self) -> bytes:
        """The file."""
        text = json.dumps({"roots": self.roots, "nodes": self._nodes}, separators=(",", ":"))
        file = io.BytesIO()
        arrays: dict[str, Any] = {VALUES: np.frombuffer(text.encode(), np.uint8), **self._arrays}
        np.savez_compressed(file, **arrays)
        return file.getvalue()

    def digest(self) -> str:
        """What tells these values from others."""
        arrays = b"".join(f"{each.dtype}{each.shape}".encode() + each.tobytes() for each in self._arrays.values())
        return sha256(json.dumps([self.roots, self._nodes]).encode() + arrays).hexdigest()

    def left_out(self) -> list[str]:
        """What of objects is left out, a line for each class."""
        names = dict[str, list[str]]()
        for cls, name in sorted(self._left_out):
            names.setdefault(cls, []).append(name)
        reasons = {cls: self._left_out[cls, found[0]] for cls, found in names.items()}
        return [f"{cls}: {', '.join(found)} left out: {reasons[cls]}" for cls, found in names.items()]

    def largest(self) -> str:
        """The largest array, in words."""
        name = max(self._arrays, key=lambda key: self._arrays[key].nbytes)
        return f"{name}, {self._arrays[name].nbytes:,} bytes of {self._arrays[name].dtype}"

    def _ref(self, value: Any, path: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if kind in (tuple, frozenset):
            if kind is frozenset and _is_of_texts(value):
                self._note(UNORDERED.format(path))
            return ["t" if kind is tuple else "z", *(self._ref(each, path) for each in _in_order(value))]
        if kind is bytes:
            return ["b", base64.b64encode(value).decode()]
        if kind is complex:
            return ["c", value.real, value.imag]
        is_number = isinstance(value, np.generic) and value.dtype.kind in NUMBERS and kind.__module__ == "numpy"
        if is_number and isinstance(value.item(), int | float):  # and no longdouble
            return ["s", value.dtype.str, value.item()]
        if isinstance(value, NAMED) and isinstance(getattr(value, "__self__", None), ModuleType | None):
            if self._attribute != ("", "") and (why := self._lacks(value)):
                raise Uncarried(f"{path} needs {why}")
            return ["n", self._name_of(value)]
        if id(value) not in self._numbers:
            self._alive.append(value)
            number = self._numbers[id(value)] = len(self._nodes)
            self._nodes.append(None)
            self._pending.append((number, value, path, self._attribute))
        return ["@", self._numbers[id(value)]]

    def _node(self, value: Any, path: str) -> list[Any]:
        kind = type(value)
        if kind in (list, set):
            if kind is set and (_filled(value) != list(value) or _is_of_texts(value)):
                self._note(UNORDERED.format(path))
            return [kind.__name__, *(self._ref(each, f"{path}[{n}]") for n, each in enumerate(_in_order(value)))]
        if kind is dict:
            return ["dict", *self._pairs(value.items(), path)]
        if kind is bytearray:
            return ["bytearray", base64.b64encode(value).decode()]
        if kind is np.ndarray or kind is np.memmap:
            return self._array(np.asarray(value), path)
        if lock := LOCKS.get(type_name(value)):
            return self._call(getattr(threading, lock))
        for module, name in GLOBAL.items():
            if value is getattr(sys.modules.get(module), name, self):
                return self._call(getattr, ["n", self._name_of(sys.modules[module])], name)
        if type_name(value) == "torch._C.Generator":
            return self._call(generator, "torch", self._ref(value.get_state().numpy(), path))
        if kind is np.random.Generator:  # several may draw from one stream of bits
            return self._call(kind, self._ref(value.bit_generator, path))
        if isinstance(value, np.random.BitGenerator | np.random.RandomState):
            is_old = isinstance(value, np.random.RandomState)
            state = value.get_state(legacy=False) if is_old else value.state  # type: ignore[union-attr]
            name = "RandomState" if is_old else "BitGenerator"
            return self._call(generator, f"{name} {state['bit_generator']}", self._ref(state, path))
        if kind is MethodType and not _is_found_by_name(value):
            return self._call(kind, self._ref(value.__func__, path), self._ref(value.__self__, path))
        if kind in WRAPPING:
            return self._call(kind, *(self._ref(getattr(value, name), path) for name in WRAPPING[kind]))
        if kind is ReferenceType and (held := value()) is not None:
            return self._call(kind, self._ref(held, path))
        if predictors.is_algorithm(value):
            return self._predictor(value, path)
        root = kind.__module__.partition(".")[0]
        node = None
        if root == "torch" or _is_module(value):
            node = self._of_torch(value, path)
        elif root == "pandas":
            node = self._of_pandas(value, path)
        return node or self._reduced(value, path)

    def _array(self, array: np.ndarray, path: str) -> list[Any]:
        if array.dtype == object:
            return ["objects", list(array.shape), *(self._ref(each, path) for each in array.ravel())]
        if array.dtype.hasobject:
            raise Uncarried(f"{path} is an array of records with objects in them: make an array for each field")
        owner: Any = array
        while (base := getattr(owner, "base", None)) is not None:
            owner = base
        owner = owner.obj if isinstance(owner, memoryview) else owner
        memory = np.frombuffer(owner, np.uint8) if type(owner) is bytearray else owner
        is_owned = type(memory) is np.ndarray and (memory.flags.owndata or memory is not owner)
        is_whole = is_owned and not memory.dtype.fields
        if owner is not array and is_whole and memory.nbytes <= max(SHARED, 2 * array.nbytes):
            start = array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
            where = self._ref(array.shape, path), array.dtype.str, self._ref(owner, path)
            return self._call(np.ndarray, *where, start, self._ref(array.strides, path))
        key = "".join(letter if letter.isalnum() or letter in "._ " else "_" for letter in path)
        while key in (*self._arrays, VALUES):
            key = f"{key} {len(self._arrays)}"
        self._arrays[key] = array
        return ["array", key]

    def _call(self, function: Any, *refs: Any) -> list[Any]:
        return ["call", ["n", self._name_of(function)], list(refs), None, [], []]

    def _pairs(self, pairs: Any, path: str) -> list[Any]:
        return [ref for key, value in pairs for ref in (self._ref(key, path), self._ref(value, f"{path}[{key!r:.30}]"))]

    def _predictor(self, value: Any, path: str) -> list[Any]:
        from connectx.predictor import Predictor

        try:
            content, settings = predictors.parts_of(value)
        except predictors.NoPredictor as fault:
            raise Uncarried(f"{path} {fault}") from None
        self._note(f"{path}: of {type_name(value)}, predict() as its network computes it, in numpy or TorchScript")
        network = np.frombuffer(content, np.uint8)
        return self._call(Predictor, self._ref(network, f"{path}.network"), self._ref(settings, path))

    def _of_torch(self, value: Any, path: str) -> list[Any] | None:
        import torch

        if type(value) in (torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.nn.Parameter)):
            return self._call(type(value), self._ref(value.detach().clone(), path), value.requires_grad)
        if type(value) is torch.Tensor:
            base = value._base
            if base is not None and base.is_contiguous() and base.nbytes <= max(SHARED, 2 * value.nbytes):
                shape = (self._ref(tuple(each), path) for each in (value.shape, value.stride()))
                start = value.storage_offset() - base.storage_offset()
                return self._call(torch.as_strided, self._ref(base, path), *shape, start)
            if value.requires_grad and value.is_leaf:
                return ["call", self._ref(value.detach().requires_grad_, path), [True], None, [], []]
            try:
                array = value.detach().cpu().contiguous().numpy()
            except (TypeError, RuntimeError) as fault:
                raise Uncarried(
                    f"{path} is a tensor that numpy has no type for ({fault}): .float() makes one"
                ) from None
            return self._call(torch.from_numpy, self._ref(array, path))
        if type(value) is torch.device:
            return self._call(torch.device, "cpu")
        if type(value) is torch.dtype:
            return self._call(getattr, ["n", self._name_of(torch)], str(value).rpartition(".")[2])
        if isinstance(value, torch.jit.ScriptModule):
            raise Uncarried(f"{path} is TorchScript: keep the module that it was made of")
        return self._module(value, path) if _is_module(value) else None

    def _module(self, value: Any, path: str) -> list[Any]:
        """A module of torch: its parameters of now, and its attributes but for hooks."""
        import torch

        if torch.nn.utils.parametrize.is_parametrized(value):
            cure = f"torch.nn.utils.parametrize.remove_parametrizations({path}, {next(iter(value.parametrizations))!r})"
            raise Uncarried(f"{path} has parametrizations, which are not carried: {cure} keeps its weights of now")
        blank, state = vars(torch.nn.Module()), list[Any]()
        for name, held in vars(value).items():
            if name == RECURRENT:
                held = [None] * len(held)
            if name in blank and name not in MODULE_STATE:
                if held and held != blank[name] and not any(each in name for each in ON_SAVING):
                    raise Uncarried(f"{path} has hooks ({name}), which are not carried: remove them")
            elif name in blank:
                state += [name, self._ref(held, path)]
            else:
                state += self._attributes(value, {name: held}, path)[1:]
        names = (self._name_of(type(value)), self._name_of(torch.nn.Module))
        return ["module", ["n", names[0]], ["n", names[1]], ["d", *state]]

    def _of_pandas(self, value: Any, path: str) -> list[Any] | None:
        import pandas as pd

        if type(value) not in (pd.DataFrame, pd.Series):
            return None
        index = list(value.index)
        if type(value) is pd.Series:
            arguments = [_column(value), index, None, value.name]
        else:
            arguments = [{name: _column(value.iloc[:, n]) for n, name in enumerate(value.columns)}, index]
        again: Any = type(value)(*arguments)
        has_names = value.index.names != [None] or getattr(value, "columns", value.index).names != [None]
        is_same = again.shape == value.shape and again.equals(value)
        if has_names or not is_same or not np.array_equal(np.array(again.dtypes), np.array(value.dtypes)):
            raise Uncarried(
                f"{path} is a {type(value).__name__} whose columns or index would change: give the agent a dict or "
                f"an array instead, such as {path}.to_dict()"
            )
        return self._call(type(value), *(self._ref(each, path) for each in arguments))

    def _reduced(self, value: Any, path: str) -> list[Any]:
        """Any other object, as Python's copying takes it apart."""
        try:
            take_apart = copyreg.dispatch_table.get(type(value))
            parts = take_apart(value) if take_apart else value.__reduce_ex__(2)
        except Exception as fault:  # their code may raise anything, as a dict whose attributes are its keys does
            if not isinstance(value, dict):
                what = type_name(value).removeprefix("builtins.").removeprefix("__main__.")
                raise Uncarried(f"{path} is a {what}, which cannot be carried ({fault})") from None
            parts = copyreg.__newobj__, (type(value),), vars(value), None, value.items()  # type: ignore[attr-defined]
        if isinstance(parts, str) and type(value).__module__ == "__main__":
            raise Uncarried(f"{path} is a {type(value).__name__} whose __reduce__ gives a name, {parts}")
        if isinstance(parts, str):
            return self._call(getattr, ["n", self._name_of(sys.modules[type(value).__module__])], parts)
        function, arguments, state, items, pairs = (*parts, None, None, None)[:5]
        kind = "call"
        if function is copyreg.__newobj__:  # type: ignore[attr-defined]
            kind, function, arguments = "new", arguments[0], arguments[1:]
        refs = [self._ref(each, path) for each in arguments]
        listed = [self._ref(each, f"{path}[{n}]") for n, each in enumerate(items or ())]
        keyed = self._pairs(pairs or (), path)
        return [kind, ["n", self._name_of(function)], refs, self._state(value, state, path), listed, keyed]

    def _state(self, value: Any, state: Any, path: str) -> Any:
        if state is None or hasattr(type(value), "__setstate__"):
            return None if state is None else self._ref(state, path)
        if isinstance(state, tuple):
            return ["t", *(None if part is None else self._attributes(value, part, path) for part in state)]
        return self._attributes(value, state, path)

    def _attributes(self, value: Any, state: dict[str, Any], path: str) -> list[Any]:
        refs, outside = ["d"], self._attribute
        for name, held in state.items():
            self._attribute = (type(value).__name__, name)
            if self._attribute not in self._left_out:
                refs += [name, self._ref(held, f"{path}.{name}")]
        self._attribute = outside
        return refs


def _is_found_by_name(method: MethodType) -> bool:
    """Whether the class of a bound method has its function under the function's name."""
    owner = method.__self__
    found = getattr(owner if isinstance(owner, type) else type(owner), method.__name__, None)
    return getattr(found, "__func__", found) is method.__func__


def _is_of_texts(value: Collection[Any]) -> bool:
    """Whether the order of a set is another in each process."""
    return len(value) > 1 and any(isinstance(each, str | bytes) for each in value)


def _in_order(value: Collection[Any]) -> Collection[Any]:
    """The elements of a list or a set; those of a set of texts are sorted: the same values give the same bytes."""
    return sorted(value, key=repr) if isinstance(value, set | frozenset) and _is_of_texts(value) else value


def _filled(value: set[Any]) -> list[Any]:
    """The elements of a set in their order, after it was filled anew in the order of now."""
    made = set[Any]()
    for each in value:
        made.add(each)
    return list(made)


def _is_module(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.nn.Module)


def _column(series: Any) -> Any:
    """The values of a column: an array of numbers, else a list."""
    return series.to_numpy() if getattr(series.dtype, "kind", "O") in NUMBERS else list(series)

"""Objects with state for several threads: who takes one has it alone until it is given back."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

Key = TypeVar("Key")
Object = TypeVar("Object")
KEPT_IDLE = 4  # idle objects


class ObjectPool(Generic[Key, Object]):
    """Decorates the function that makes an object, in the place of a cache: ``with solvers_for(geometry) as solvers:``.

    An idle object for the same key is taken, that which was given back last, or a new one is made. One whose block
    raises is dropped: what works on it may not have ended.

    Args:
        make: called by one thread at a time, as compilers like it.
    """

    def __init__(self, make: Callable[[Key], Object]):
        self._make = make
        self._idle: list[tuple[Key, Object]] = []
        self._changing, self._making = threading.Lock(), threading.Lock()

    @contextmanager
    def __call__(self, key: Key) -> Iterator[Object]:
        taken = self._take(key)
        if taken is None:
            with self._making:
                taken = self._make(key)
        yield taken
        with self._changing:
            self._idle.append((key, taken))
            del self._idle[:-KEPT_IDLE]

    def _take(self, key: Key) -> Object | None:
        with self._changing:
            for index in reversed(range(len(self._idle))):
                if self._idle[index][0] == key:
                    return self._idle.pop(index)[1]
        return None

    def cache_clear(self) -> None:
        """Forgets the idle objects, as a cache would."""
        with self._changing:
            self._idle.clear()

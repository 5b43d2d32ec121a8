# What single files stumble over and modules do not: future imports, pickle of own classes, type hints, enums, quotes.
from __future__ import annotations

import copy
import pickle
import sys
import typing
from dataclasses import dataclass
from enum import Enum

from shapes import (
    Move,  # a comment inside
    best,
)

TEXT = r'''raw \d "quotes" ''' + """and \\ "more" of '''them'''"""


class Kind(Enum):
    QUIET = 1
    LOUD = 2


@dataclass(slots=True)
class Node:
    count: typing.ClassVar[int] = 0
    kind: Kind = Kind.QUIET
    move: Move | None = None


def as_numpy(function):
    def wrapper(*arguments, **options):
        import numpy

        return numpy.int64(function(*arguments, **options))

    return wrapper


@as_numpy
def agent(obs, config):
    assert typing.get_type_hints(Node)["kind"] is Kind and sys.modules[__name__].Kind is Kind
    assert len(pickle.dumps(Node())) > 0 and copy.deepcopy(Node(Kind.LOUD)).kind is Kind.LOUD and "'''" in TEXT
    return best(Move([c for c in range(config.columns) if obs.board[c] == 0]), obs)


if __name__ == "__main__":
    print(open(__file__).read())

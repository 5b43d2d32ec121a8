"""Notebooks as people have them when they want to build a function: cells, which are run in a kernel, and what is due.

A notebook begins with a line of its name, after ``####``, and lines of what is due, after ``#:``. Its cells stand
between lines of ``# %%``; ``LEGAL`` runs before as In[1]. It ends with a function ``my_agent``, unless it says so:
``#: plays: N`` stands for a last cell with one that plays the Nth free column.
"""

from typing import NamedTuple

LEGAL = """
def free(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]
def nth(obs, config, n):
    columns = free(obs, config)
    return columns[n % len(columns)]
"""


class Situation(NamedTuple):
    text: str
    expected: str = ""  # in the refusal; "" where the built file has to play as the function does
    agent: str = "my_agent"
    says: str = ""  # in the notes, several parts between |
    changes: str = ""  # what play modifies, as the report says it
    plays: str = ""  # the number of a free column

    @property
    def cells(self) -> list[str]:
        last = [f"def my_agent(obs, config):\n    return nth(obs, config, {self.plays})"] if self.plays else []
        return [LEGAL, *(cell.strip("\n") for cell in self.text.split("# %%\n")), *last]


def situations(text: str) -> dict[str, Situation]:
    """By their names."""
    found = {}
    for notebook in text.split("#### ")[1:]:
        name, *lines = notebook.splitlines(keepends=True)
        due = dict(line[3:].strip().split(": ", 1) for line in lines if line.startswith("#: "))
        found[name.strip()] = Situation("".join(line for line in lines if not line.startswith("#: ")), **due)
    return found


PLAIN = situations(
    r"""
#### a class
class Scorer:
    bonus = 1
    def __init__(self, weights):
        self.weights, self.log = weights, ["x" * 100] * 30000
    def score(self, obs):
        return sum(w * (c + 1) for w, c in zip(self.weights, obs.board)) + self.bonus
    def train(self):
        return gym.make("nothing")
# %%
scorer = Scorer(list(range(42)))
Scorer.bonus = 4
#: plays: scorer.score(obs)
#### cells with magics, some indented by two spaces
%matplotlib inline

def free(obs, config):
  return [c for c in range(config.columns) if obs.board[c] == 0]
# %%
%%time

SHIFT = 2
# %%
%%capture
def turned(n):
  return n + 1
# %%
%%time

def my_agent(obs, config):
    columns = free(obs, config)
    return columns[turned(SHIFT) % len(columns)]
#### the old agent under another name, and another global called agent
#: agent: best
def agent(obs, config):
    return 0
def my_agent(obs, config):
    return nth(obs, config, obs.step + 1)
# %%
best = my_agent
#: plays: 0
#### a closure over a trained table
import numpy as np
table = np.zeros((42, 7))
rng = np.random.default_rng(1)
for _ in range(100):
    table[rng.integers(42)] += rng.normal(size=7)
# %%
def make(table, shift=1):
    def play(obs, config):
        columns = free(obs, config)
        return max(columns, key=lambda c: table[obs.step][c] + shift)
    return play
my_agent = make(table)
table = None
#### a partial
from functools import partial
def play(shift, obs, config):
    return nth(obs, config, shift + obs.step)
# %%
my_agent = partial(play, 4)
#### a method
class Bot:
    def __init__(self):
        self.shift = 3
    def act(self, obs, config):
        return nth(obs, config, self.shift + obs.step)
# %%
bot = Bot()
bot.shift = 5
my_agent = bot.act
#### a lambda
other, my_agent = (lambda obs, config: 0), lambda obs, config: free(obs, config)[0]
#### defaults and two that share a list
#: changes: shared, holder
shared = [1, 2, 3]
holder = {'list': shared}
DEPTH = 3
def deep(n, d=DEPTH, table=holder):
    return n + d + len(table['list'])
DEPTH = 8
# %%
def my_agent(obs, config):
    shared.append(obs.step)
    return nth(obs, config, deep(obs.step) + DEPTH + len(shared))
#### only obs, with an annotation of nobody's
from __future__ import annotations
def my_agent(obs: Observation) -> int:
    return [c for c in range(7) if obs['board'][c] == 0][-1]
#### numba
from numba import njit
@njit
def hashed(n):
    return (n * 2654435761) % 7
#: plays: hashed(obs.step)
#### modules of a folder elsewhere
import os, sys
os.makedirs("elsewhere/parts_of_mine", exist_ok=True)
open("elsewhere/parts_of_mine/__init__.py", "w").close()
with open("elsewhere/parts_of_mine/shifts.py", "w") as file:
    file.write("def shift(n):\n    return n + 2\n")
with open("elsewhere/alone_of_mine.py", "w") as file:
    file.write("from parts_of_mine import shifts\ndef shift(n):\n    return shifts.shift(n) + 1\n")
sys.path.append("elsewhere")
# %%
import alone_of_mine as alone
from parts_of_mine.shifts import shift
#: plays: alone.shift(obs.step) + shift(1)
#### classes of all kinds
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple
class Base(ABC):
    @abstractmethod
    def value(self, x): ...
    @property
    def size(self):
        return self._size
    @staticmethod
    def twice(x):
        return 2 * x
    @classmethod
    def make(cls):
        return cls()
    def train(self):
        return gym.make(getattr(self, "name"))
class Sum(Base):
    weights = [w * 2 for w in range(7)]
    _size = 3
    def value(self, x):
        return self.twice(x) + self.size + sum(self.weights)
class Point(NamedTuple):
    a: int
    b: float = 0.5
@dataclass(frozen=True)
class Pair:
    base: Base
    point: Point
    scale: int = 1
pair = Pair(Sum.make(), Point(3))
later = {k: (lambda x, k=k: x + k) for k in range(3)}
Sum.weights = [1, 2, 4]
Pair.shift = 5
# %%
class Agent:
    def __init__(self, pair):
        self.pair = pair
    def __call__(self, obs, config):
        return self.pair.base.value(obs.step) + self.pair.point.a + later[1](2) + self.pair.shift
bot = Agent(pair)
def my_agent(obs, config=None, *, depth=lambda: math.floor(2.5)):
    return nth(obs, config, bot(obs, config) + depth())
#### a tree that only the agent binds
#: changes: tree
class Node:
    def __init__(self, visits):
        self.visits = visits
    def child(self):
        return Node(self.visits + 1)
# %%
def my_agent(obs, config):
    global tree
    try:
        tree = tree.child()
    except NameError:
        tree = Node(sum(obs.board))
    return nth(obs, config, tree.visits)
#### all names of numpy, and names of builtins that stand for others
from numpy import *
from operator import itemgetter
first = itemgetter(0)
def max(values, default=0):
    return sorted(values)[0] if values else default
map = {"a": 3}
zip = [1, 2, 3]
list, len_, next = [5, 6], len, 4
type = "mine"
# %%
def my_agent(obs, config):
    n = map["a"] + zip[1] + list[0] + next + len(type) + obs.step
    return nth(obs, config, n + int(first([max(free(obs, config))]) + array([0]).sum()))
#### in a block, with tabs, é and lambdas over lines
é = "é" * 3
if é:
	def my_agent(obs, config):
		return nth(obs, config, policies["é"](obs) + len(é))
policies = {"a": lambda obs: 0, "é": lambda obs: (
    obs.step
    + len('a "quoted" text' '\'')
)}
#### a static method, and one of a class
class Bot:
    step = 3
    @classmethod
    def shift(cls, n):
        return n + cls.step
    @staticmethod
    def act(obs, config):
        return nth(obs, config, turn(obs.step))
turn = Bot.shift
Bot.step = 4
my_agent = Bot.act
#### methods that are cached, and super
from functools import cached_property, lru_cache
class Base:
    def __init__(self):
        self.shift = 2
    def value(self, n):
        return n + self.shift
class Mine(Base):
    @lru_cache(maxsize=None)
    def value(self, n):
        return super().value(n) + self.extra
    @cached_property
    def extra(self):
        return 3
mine = Mine()
mine.value(1)
#: plays: mine.value(obs.step)
#### a memory of its own
#: changes: attributes of my_agent, memory, turns
from collections import deque
class Memory:
    def __init__(self, size):
        self.moves = deque(maxlen=size)
# %%
memory, turns = Memory(5), 0
def my_agent(obs, config):
    global turns
    turns += 1
    memory.moves.append(obs.step)
    my_agent.calls = getattr(my_agent, "calls", 0) + 1
    return nth(obs, config, sum(memory.moves) + turns)
# %%
from connectx_toolkit.kaggle.agent_file import Struct
my_agent(Struct(board=[0] * 42, step=17, mark=1), Struct(columns=7));
#### bound anew by a decorator of a package
from functools import lru_cache
def score(n):
    return n if n < 2 else score(n - 1) + score(n - 2)
score = lru_cache(maxsize=None)(score)
#: plays: score(obs.step)
#### a method of a list, and of int
#: changes: seen, push
seen = [4]
push = seen.append
popcount = int.bit_count
# %%
def my_agent(obs, config):
    push(obs.step)
    return nth(obs, config, len(seen) + popcount(sum(seen)))
#### tensors of one storage, and one that learns
#: changes: plane, grid, weights
import torch
plane = torch.zeros(42)
grid = plane.view(6, 7)
weights = torch.arange(7.0, requires_grad=True)
# %%
def my_agent(obs, config):
    plane[:] = torch.tensor(obs.board, dtype=torch.float32)
    (weights * grid.sum(0)).sum().backward()
    with torch.no_grad():
        weights.sub_(weights.grad, alpha=0.01); weights.grad = None
    return max(free(obs, config), key=lambda c: float(weights[c] - grid[:, c].sum()))
#### tied weights, buffers, statistics and a sequence of layers
import torch
from torch import nn
torch.manual_seed(1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(42, 42), nn.Linear(42, 7)])
        self.again = nn.Linear(42, 42)
        self.again.weight = self.layers[0].weight
        self.register_buffer("mask", torch.ones(7))
        self.register_buffer("scale", torch.full((1,), 2.0), persistent=False)
        self.bn = nn.BatchNorm1d(42)
    def forward(self, x):
        x = torch.relu(self.layers[0](x)) + self.again(x)
        return self.layers[1](self.bn(x)) * self.mask * self.scale
net = Net()
net(torch.rand(16, 42)); net.eval()
net.mask[2] = -1
bias = torch.linspace(0, 1, 7)
last = nn.Sequential(nn.Linear(7, 7), nn.Tanh()).eval()
last[0].weight.data += 0.5
memory = nn.GRU(7, 7, batch_first=True)
# %%
def my_agent(obs, config):
    with torch.no_grad():
        scores = last(net(torch.tensor(obs.board, dtype=torch.float32)[None])[0]) + bias
        scores = memory(scores[None, None])[0][0, 0]
    return max(free(obs, config), key=lambda c: float(scores[c]))
#### counted by a decorator
#: changes: calls, count of score, count of _value
import functools, time
calls = {}
def timed(f):
    count = 0
    @functools.wraps(f)
    def inner(*args, **named):
        nonlocal count
        count += 1
        calls[f.__name__] = count
        return f(*args, **named) + count
    return inner
@timed
def score(n):
    return n * 3
class Bot:
    @timed
    def value(self, n):
        return n * 2
bot = Bot()
bot.value(3); score(1); score(2)
#: plays: score(obs.step) + bot.value(obs.step) + calls['value']
#### a module of one's own, called agent.py, that was changed
%%writefile agent.py
SIDE = 1
Q = {}
def train(n):
    for k in range(n):
        Q[k] = k * k + 1
def score(n):
    return 0
def value(n):
    return SIDE * Q.get(n, 0) + score(n)
# %%
import agent
from agent import value
agent.SIDE = -1
agent.train(50)
def better(n):
    return n * 5
agent.score = better
#: plays: value(obs.step)
#### attributes of classes that other cells set
class Bot:
    @property
    def side(self): return 1
    def act(self, obs, config):
        return nth(obs, config, self.side * obs.step + self.shift(2) + self.made(1))
Bot.side = property(lambda self: 5)
Bot.shift = staticmethod(lambda n: n + 1)
Bot.made = classmethod(lambda cls, n: n * 3)
# %%
def my_agent(obs, config):
    return Bot().act(obs, config)
#### modules of one's own that others of one's own change
%%writefile lines_of_mine.py
SHIFTS = {}
class Rule:
    step = 1
def value(n):
    return SHIFTS.get(n % 3, 0) + Rule.step
# %%
%%writefile more_lines_of_mine.py
import lines_of_mine
lines_of_mine.SHIFTS.update({0: 4, 1: 9, 2: 2})
# %%
import lines_of_mine, more_lines_of_mine
lines_of_mine.Rule.step = 3
#: plays: lines_of_mine.value(obs.step)
#### a class whose methods keep other values
#: says: table is a Table, whose own methods keep otherwise: hits, top
class Table:
    __slots__ = ("rows", "hits", "top", "next")
    def __init__(self, rows, next): self.rows, self.hits, self.top, self.next = rows, 0, max(rows), next
    def __getstate__(self): return {"rows": self.rows, "next": self.next}
    def __setstate__(self, state): self.rows, self.hits, self.next = state["rows"], 0, state["next"]
table = Table([5, 3, 9], Table([1], None)); table.hits = 3
#: plays: table.rows[1] + table.next.rows[0] + obs.step
#### settings of packages
import sys
sys.setrecursionlimit(20000)
def deep(n):
    return n if n == 0 else 1 + deep(n - 1)
#: plays: deep(4000 + obs.step)
#### dataclasses, enumerations and collections of all kinds
#: changes: Q, recent
from dataclasses import dataclass, field, InitVar
from enum import Enum, IntFlag, auto
from functools import cached_property, partialmethod
from collections import OrderedDict, deque, Counter, ChainMap, defaultdict
@dataclass(frozen=True, order=True)
class Move:
    score: float
    col: int = field(compare=False, default=3)
@dataclass(kw_only=True)
class Deep:
    depth: int = 2
    seed: InitVar[int] = 3
    weights: list = field(default_factory=lambda: [1, 2, 3])
    def __post_init__(self, seed):
        self.noise = [seed * k % 7 for k in range(7)]
    def at(self, n, by):
        return n * by + self.depth
    twice = partialmethod(at, by=2)
    @cached_property
    def total(self):
        return sum(self.weights)
class Side(Enum):
    LEFT = auto(); RIGHT = auto()
    def __init__(self, number):
        self.shift = number * 2
    @property
    def flipped(self):
        return Side.RIGHT if self is Side.LEFT else Side.LEFT
class Flag(IntFlag):
    A = 1; B = 2; C = 4
deep = Deep(seed=5, depth=4)
deep.total
deep.weights.append(100)
order = OrderedDict(a=1, b=2, c=3); order.move_to_end("a")
recent = deque([1, 2, 3, 4], maxlen=3)
flags = Flag.A | Flag.C
layers = ChainMap({"x": 1}, {"y": 5})
moves = sorted([Move(2.5, 1), Move(-1.0), Move(7.0, 5)])
tally = Counter("abca")
Q = defaultdict(lambda: [0.5] * 7)
for k in range(20): Q[k][k % 7] = 2.0
# %%
def my_agent(obs, config):
    recent.append(obs.step)
    side = Side.RIGHT.flipped if Flag.C in flags else Side.RIGHT
    n = deep.twice(obs.step) + deep.total + deep.noise[2] + side.shift + sum(recent) + moves[-1].col
    n += layers["y"] + tally["a"] + list(order).index("a") + int(2 * Q[obs.step][3])
    return nth(obs, config, n)
#### an instance whose __getattr__ raises KeyError
#: changes: my_agent
class Settings:
    def __init__(self, **held):
        self.__dict__["held"] = held
    def __getattr__(self, name):
        return self.held[name]
    def __setattr__(self, name, value):
        self.held[name] = value
    def __call__(self, obs, config):
        self.turn += 1
        return nth(obs, config, self.depth + self.turn + obs.step)
my_agent = Settings(depth=3, turn=0)
#### closures of loops, and two that share a sum
#: changes: total of get
fs = []
for i in range(4):
    fs.append(lambda n: n + i)
gs = [lambda n: n * k for k in range(4)]
hs = [(lambda k: lambda n: n - k)(k) for k in range(4)]
def pair():
    total = 0
    def add(n):
        nonlocal total
        total += n
    def get():
        return total
    return add, get
add, get = pair()
add(5)
i = 9
# %%
def my_agent(obs, config):
    add(obs.step)
    return nth(obs, config, sum(f(obs.step) for f in fs + gs + hs) + get())
#### a decorator that gives other arguments
import functools
def on_board(f):
    @functools.wraps(f)
    def inner(obs, config):
        return nth(obs, config, f(obs.board))
    return inner
@on_board
def my_agent(board):
    return sum(board)
#### attributes that no file can hold
#: says: Player.log left out
import os, socket
class Helper:
    table = [1, 2]
Helper.table.append(7)
class Player:
    def __init__(self):
        self.log, self.shifts, self.helper, self.more = open(os.devnull, "w"), [4, 5], Helper(), {"a": [6]}
        self.line = socket.socket()
    def report(self):
        self.log.write("x")
player = Player()
#: plays: player.helper.table[2] * obs.step + player.shifts[1] + player.more["a"][0]
#### subclasses of what Python has, and a file that an agent opens
#: changes: history
import heapq, os
from collections import OrderedDict
class Table(dict):
    def __missing__(self, key):
        return key * 2
class Attributes(dict):
    __getattr__ = dict.__getitem__
class Queue(list):
    def best(self):
        return heapq.nsmallest(1, self)[0]
class History(list):
    total = 0
    def append(self, x):
        super().append(x)
        self.total += x
class Column(int):
    def __new__(cls, number, name):
        self = super().__new__(cls, number)
        self.name = name
        return self
class Lru(OrderedDict):
    def __init__(self, size):
        super().__init__()
        self.size = size
    def put(self, key, value):
        self[key] = value
        if len(self) > self.size:
            self.popitem(last=False)
table, queue, history, lru = Table(), Queue([5, 3, 4]), History(), Lru(9)
table[3] = 1
queue.kind = "mine"
for n in (3, 1, 4, 1, 5):
    history.append(n)
for n in range(12): lru.put(n, n * n)
middle, settings = Column(3, "middle"), Attributes(column=4)
# %%
def my_agent(obs, config):
    history.append(obs.step)
    n = table[obs.step] + queue.best() + history.total + middle + len(middle.name) + settings.column
    with open(os.devnull) as file:
        return nth(obs, config, n + lru.get(obs.step, 1) + lru.size + len(file.read()))
#### a class of settings that was redefined, and one that a decorator registered
REGISTRY = {}
def register(name):
    def around(cls):
        REGISTRY[name] = cls
        cls.bonus = len(REGISTRY) * 3
        return cls
    return around
@register("a")
class A:
    def value(self, n):
        return n + self.bonus
@register("b")
class B(A):
    def value(self, n):
        return super().value(n) * 2
old = B()
class B(A):
    pass
def faster(self, n):
    return 5 * n
A.faster = faster
#: plays: REGISTRY["b"]().value(obs.step) + old.value(1) + B().faster(2) + len(type(old).__name__)
#### a decorator that is a class
#: changes: score
import functools
class memoize:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function, self.memory = function, {}
    def __call__(self, *args):
        if args not in self.memory:
            self.memory[args] = self.function(*args)
        return self.memory[args]
@memoize
def score(c, n):
    return abs(c - 3) * (n % 4) + c
# %%
def my_agent(obs, config):
    return min(free(obs, config), key=lambda c: score(c, obs.step))
#### caches by a decorator of one's own, within a function, and with an attribute
#: says: score's cache held 2 results (In[2], line 5)
from functools import lru_cache
def cached(function):
    return lru_cache(maxsize=10_000)(function)
@cached
def score(c, n):
    return abs(c - 3) * (n % 4) + c
score.side = -1
score(1, 2), score(2, 2)
# %%
def make_agent(depth):
    @lru_cache(maxsize=None)
    def search(n, left=depth):
        return n if left == 0 else search(n // 2 + 3, left - 1)
    def play(obs, config):
        n = obs.step
        return min(free(obs, config), key=lambda c: score.side * score(c, n) + search(n + c) % 5)
    return play
my_agent = make_agent(3)
#### a class that an assignment made, and set later
class Base:
    depth = 1
    def value(self, n):
        return n * self.depth + self.shift
Fast = type("Fast", (Base,), {"shift": 2})
Fast.depth = 5
Fast.shift = 3
#: plays: Fast().value(obs.step)
#### what another process has otherwise
#: says: hash() of texts is another number in each process (In[2], line 5)|openings is a set whose order differs
class Board(tuple):
    def __hash__(self):
        return hash(len(self))
def state(board):
    return hash(bytes(board))
openings = {("centre", 3), ("left", 1)}
book = {}
book[state([0] * 42)] = 3
# %%
def my_agent(obs, config):
    known = book.get(state(obs.board))
    return nth(obs, config, (("left", 1) in openings) * obs.step)
#### what cells did to a package
#: says: In[2], line 3 does not come along: np.set_printoptions(linewidth=200)
import numpy as np
import statistics
np.set_printoptions(linewidth=200)
statistics.mean = max
np.random.seed(3)
#: plays: int(np.sum(obs.board))
#### values of all kinds
#: changes: pick
import logging, pathlib, fractions, decimal, array, random, re, types
import numpy as np
log = logging.getLogger("x")
frac, dec, arr = fractions.Fraction(3, 4), decimal.Decimal("2.5"), array.array("i", [1, 2, 3])
pattern = re.compile(r"\d+"); space = types.SimpleNamespace(a=4); empty = ...; part = slice(1, 3)
pick = random.Random(4).choice
def near(c): return abs(c - 4)
fast = np.vectorize(near)
poly = np.poly1d([1, -3, 2])
kind = np.dtype("int8")
words = np.array(["ab", "c"])
half = np.float16(0.5); text = np.str_("abc"); day = np.datetime64("2024-01-05")
# %%
def my_agent(obs, config):
    n = obs.step + int(frac * 4) + int(dec * 2) + arr[1] + pick(range(7))
    n += len(pattern.findall('1 2')) + space.a + len([1, 2, 3][part]) + (empty is ...) + (log.name == 'x')
    n += int(fast(obs.step)) + int(poly(obs.step)) + len(words[0])
    n += int(half * 2) + len(text) + int(day.astype(int)) + np.zeros(1, kind).nbytes
    return nth(obs, config, n)
"""
)
REFUSED = situations(
    r"""
#### a name that no cell defines
#: expected: In\[3\], line 2: my_agent reads DEPHT, .*did you mean DEPTH\?
DEPTH = 3
#: plays: DEPHT
#### a function of exec
#: expected: made by exec, or typed
exec('def my_agent(obs, config):\n    return 0')
#### a module's function of before an edit
#: expected: agent runs here as its file was before it was edited: reload
#: agent: edited_of_mine.agent
%%writefile edited_of_mine.py
# the first line
def agent(obs, config):
    return min((c for c in range(config.columns) if obs.board[c] == 0), key=lambda c: abs(c - 3))
# %%
import edited_of_mine
text = open("edited_of_mine.py").read()
open("edited_of_mine.py", "w").write(text.replace("- 3", "- 2"))
#### a method of a module of one's own of before an edit
#: expected: Bot.move of edited_bot_of_mine runs here as its file was
%%writefile edited_bot_of_mine.py
class Bot:
    def move(self, obs):
        return 3
# %%
import edited_bot_of_mine as mine
text = open("edited_bot_of_mine.py").read()
open("edited_bot_of_mine.py", "w").write("\n\n" + text.replace("3", "2"))
#: plays: mine.Bot().move(obs)
#### a function of before its module's reload
#: expected: In\[6\], line 2: choose is of reloaded_of_mine before its reload: import it again
%%writefile reloaded_of_mine.py
def choose(n):
    return n
# %%
import reloaded_of_mine, importlib
from reloaded_of_mine import choose
# %%
%%writefile reloaded_of_mine.py
def choose(n):
    return -n
# %%
importlib.reload(reloaded_of_mine)
#: plays: choose(1)
#### rules that exec made
#: expected: my_agent: mid was made by exec: write it into a cell
rules = {}
exec("SIDE = 3\ndef mid(c):\n    return -abs(c - SIDE)", rules)
#: plays: max(range(7), key=rules["mid"])
#### an open file
#: expected: my_agent needs a value that no file can hold: book is a .*TextIOWrapper
import os
book = open(os.devnull)
#: plays: len(book.read())
#### of IPython
#: expected: without IPython
def my_agent(obs, config):
    display(obs)
    return 0
#### more than Kaggle takes
#: expected: my_agent holds [\d,]+ bytes of values, .* takes 10,000: .*; largest is big, 80,000 bytes
import numpy as np
from connectx_toolkit.builder.notebook import live
live.MOST_VALUES = 10_000
big = np.random.default_rng(0).random((10, 1000))
#: plays: int(big[0, 0])
#### a frame
#: expected: no file can hold: frame is a pandas DataFrame: give the agent a dict or an array$
import pandas as pd
frame = pd.DataFrame({'a': [1, 2]})
#: plays: len(frame)
#### a typed dict
#: expected: Q is a numba typed Dict: make it inside a function$
from numba import types
from numba.typed import Dict
Q = Dict.empty(types.int64, types.float64)
Q[3] = 1.5
#: plays: int(Q[3])
#### weak references
#: expected: visits is a weakref WeakKeyDictionary: hold the object itself, or a dict$
import weakref
class Node: pass
visits = weakref.WeakKeyDictionary()
#: plays: len(visits)
#### a method that was swapped
#: expected: held\[0\] is a method that its class does not have: write it into the class$
from types import MethodType
class Bot: pass
bot = Bot()
bot.value = MethodType(lambda self, n: 3 * n, bot)
held = [bot.value]
#: plays: held[0](obs.step)
#### singledispatch
#: expected: score is a singledispatch function: choose by isinstance in one function$
from functools import singledispatch
@singledispatch
def score(x):
    return 0
@score.register
def _(x: int):
    return x
#: plays: score(3)
#### parametrizations
#: expected: net\['0'\] is a .*ParametrizedLinear, which cannot be carried
import torch
from torch import nn
from torch.nn.utils import parametrizations
net = nn.Sequential(parametrizations.weight_norm(nn.Linear(42, 7))).eval()
#: plays: int(net(torch.tensor(obs.board, dtype=torch.float32)).argmax())
#### a class within a class
#: expected: my_agent holds a class Outer.Weights: define it at the top of a cell$
class Outer:
    class Weights:
        side = 0
held = [Outer.Weights()]
#: plays: held[0].side
#### private names of a class that was defined anew
#: expected: a Bot of before, with a private __side: run the cell that makes its objects again$
class Bot:
    def __init__(self):
        self.__side = 3
    def value(self):
        return self.__side
bot = Bot()
# %%
class Bot: pass
#: plays: bot.value()
#### a registry of subclasses
#: expected: Rule.__init_subclass__ uses RULES as each class is made: list the classes where
RULES = []
class Rule:
    def __init_subclass__(cls, weight=1):
        RULES.append(cls)
class First(Rule): pass
#: plays: len(RULES)
"""
)

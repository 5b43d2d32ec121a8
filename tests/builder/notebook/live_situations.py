"""Notebooks as people have them when they want to build a function: cells, which are run in a kernel, and what is due.

A notebook begins with a line of its name, after ``####``, and lines of what is due, after ``#:``. Its cells stand
between lines of ``# %%``; ``LEGAL`` runs before as In[1]. It ends with a function ``my_agent``, unless it says so.
"""

from typing import NamedTuple

LEGAL = """
def free(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]
"""


class Situation(NamedTuple):
    text: str
    expected: str = ""  # in the refusal; "" where the built file has to play as the function does
    agent: str = "my_agent"
    says: str = ""  # in a note
    changes: str = ""  # what play modifies, as the report says it

    @property
    def cells(self) -> list[str]:
        return [LEGAL, *(cell.strip("\n") for cell in self.text.split("# %%\n"))]


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
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[scorer.score(obs) % len(columns)]
#### indented by two spaces, with a magic
%matplotlib inline

def free(obs, config):
  return [c for c in range(config.columns) if obs.board[c] == 0]
# %%
def my_agent(obs, config):
  columns = free(obs, config)
  return columns[(obs.step + 1) % len(columns)]
#### a timed cell
%%time

def free(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]
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
#### another global called agent
#: agent: mine
def agent(obs, config):
    return 0
# %%
def mine(obs, config):
    columns = free(obs, config)
    return columns[(obs.step + 3) % len(columns)]
#### the old agent under another name
#: agent: best
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(obs.step + 1) % len(columns)]
# %%
best = my_agent
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[0 % len(columns)]
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
#### a defaultdict with a lambda
from collections import defaultdict
Q = defaultdict(lambda: [0.5] * 7)
# %%
for n in range(42):
    Q[n][n % 7] = 2.0
# %%
def my_agent(obs, config):
    return max(free(obs, config), key=lambda c: Q[obs.step][c])
#### a partial
from functools import partial
def play(shift, obs, config):
    columns = free(obs, config)
    return columns[(shift + obs.step) % len(columns)]
# %%
my_agent = partial(play, 4)
#### a method
class Bot:
    def __init__(self):
        self.shift = 3
    def act(self, obs, config):
        columns = free(obs, config)
        return columns[(self.shift + obs.step) % len(columns)]
# %%
bot = Bot()
bot.shift = 5
my_agent = bot.act
#### an instance that is called
class Bot:
    def __init__(self, shift):
        self.shift = shift
    def __call__(self, obs, config):
        columns = free(obs, config)
        return columns[(self.shift + obs.step) % len(columns)]
# %%
my_agent = Bot(2)
#### a lambda
other, my_agent = (lambda obs, config: 0), lambda obs, config: free(obs, config)[0]
#### attributes set later
class Cfg:
    x = 1
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(Cfg.x + my_agent.book[obs.step]) % len(columns)]
# %%
Cfg.x = 5
my_agent.book = list(range(42))
#### a counter changed in play
#: changes: turns, seen
turns = 0
seen = {}
# %%
def my_agent(obs, config):
    global turns
    turns += 1
    seen[turns] = obs.step
    columns = free(obs, config)
    return columns[(turns + len(seen)) % len(columns)]
# %%
from connectx_toolkit.kaggle.agent_file import Struct
for _ in range(5):
    my_agent(Struct(board=[0] * 42, step=0, mark=1), Struct(columns=7))
#### a tree of objects that lead back
class Node:
    __slots__ = ('value', 'parent', 'children')
    def __init__(self, value, parent=None):
        self.value, self.parent, self.children = value, parent, []
# %%
root = Node(1)
last = root
for n in range(3000):
    child = Node(n, last)
    last.children.append(child)
    last = child
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(last.parent.parent.value + root.children[0].parent.value) % len(columns)]
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
    columns = free(obs, config)
    shared.append(obs.step)
    return columns[(deep(obs.step) + DEPTH + len(shared)) % len(columns)]
#### an annotation of nobody's
from __future__ import annotations
def my_agent(obs: Observation, config: Config) -> int:
    return free(obs, config)[0]
#### only obs
def my_agent(obs):
    return [c for c in range(7) if obs['board'][c] == 0][-1]
#### numba
from numba import njit
@njit
def hashed(n):
    return (n * 2654435761) % 7
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[hashed(obs.step) % len(columns)]
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
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(alone.shift(obs.step) + shift(1)) % len(columns)]
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
    columns = free(obs, config)
    return columns[(bot(obs, config) + depth()) % len(columns)]
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
    columns = free(obs, config)
    return columns[tree.visits % len(columns)]
#### a module called agent.py
%%writefile agent.py
def shift(n):
    return n + 2
# %%
from agent import shift
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[shift(obs.step) % len(columns)]
#### all names of numpy, and a builtin's name
from numpy import *
from operator import itemgetter
first = itemgetter(0)
def max(values, default=0):
    return sorted(values)[0] if values else default
# %%
def my_agent(obs, config):
    return int(first([max(free(obs, config))]) + array([0]).sum())
#### in a block, with tabs, é and lambdas over lines
é = "é" * 3
if é:
	def my_agent(obs, config):
		columns = free(obs, config)
		return columns[(policies["é"](obs) + len(é)) % len(columns)]
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
        columns = free(obs, config)
        return columns[turn(obs.step) % len(columns)]
turn = Bot.shift
Bot.step = 4
my_agent = Bot.act
#### attributes that nothing reads and no file can hold
#: says: Player.log left out
import os, socket
class Player:
    def __init__(self):
        self.log = open(os.devnull, "w")
        self.line, self.shift = socket.socket(), 5
    def choose(self, columns):
        return columns[self.shift % len(columns)]
    def report(self):
        self.log.write("x")
player = Player()
# %%
def my_agent(obs, config):
    return player.choose(free(obs, config))
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
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[mine.value(obs.step) % len(columns)]
#### tensors and a sequence of layers
import torch
torch.manual_seed(3)
bias = torch.linspace(0, 1, 7)
net = torch.nn.Sequential(torch.nn.Linear(42, 7), torch.nn.Tanh()).eval()
net[0].weight.data += 0.5
memory = torch.nn.GRU(7, 7, batch_first=True)
# %%
def my_agent(obs, config):
    with torch.inference_mode():
        scores = net(torch.tensor(obs.board, dtype=torch.float32)) + bias
        scores = memory(scores[None, None])[0][0, 0]
    return max(free(obs, config), key=lambda c: float(scores[c]))
#### a memory of its own
#: changes: attributes of my_agent, memory
from collections import deque
class Memory:
    def __init__(self, size):
        self.moves = deque(maxlen=size)
# %%
memory = Memory(5)
def my_agent(obs, config):
    memory.moves.append(obs.step)
    my_agent.calls = getattr(my_agent, "calls", 0) + 1
    columns = free(obs, config)
    return columns[sum(memory.moves) % len(columns)]
# %%
from connectx_toolkit.kaggle.agent_file import Struct
my_agent(Struct(board=[0] * 42, step=17, mark=1), Struct(columns=7));
#### settings whose keys are attributes
class AttrDict(dict):
    __getattr__ = dict.__getitem__
settings = AttrDict(column=4)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return settings.column if settings.column in columns else columns[0]
#### bound anew by a decorator of a package
from functools import lru_cache
def score(n):
    return n if n < 2 else score(n - 1) + score(n - 2)
score = lru_cache(maxsize=None)(score)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(score(n)) % len(columns)]
#### a method of a list, and of int
#: changes: seen, push
seen = [4]
push = seen.append
popcount = int.bit_count
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    push(obs.step)
    return columns[(len(seen) + popcount(sum(seen))) % len(columns)]
#### what numpy makes of functions and values
import numpy as np
def near(c): return abs(c - 4)
fast = np.vectorize(near)
poly = np.poly1d([1, -3, 2])
kind = np.dtype("int8")
words = np.array(["ab", "c"])
half = np.float16(0.5); text = np.str_("abc"); day = np.datetime64("2024-01-05")
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = int(fast(obs.step)) + int(poly(obs.step)) + len(words[0])
    n += int(half * 2) + len(text) + int(day.astype(int)) + np.zeros(1, kind).nbytes
    return columns[n % len(columns)]
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
#### tied weights, buffers and statistics
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
# %%
def my_agent(obs, config):
    with torch.no_grad():
        out = net(torch.tensor(obs.board, dtype=torch.float32)[None])[0]
    return max(free(obs, config), key=lambda c: float(out[c]))
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
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(score(n) + bot.value(n) + calls['value']) % len(columns)]
#### a module of one's own that was changed
%%writefile heuristics_of_mine.py
SIDE = 1
Q = {}
def train(n):
    for k in range(n):
        Q[k] = k * k + 1
def value(n):
    return SIDE * Q.get(n, 0)
# %%
import heuristics_of_mine
heuristics_of_mine.SIDE = -1
heuristics_of_mine.train(50)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(heuristics_of_mine.value(n)) % len(columns)]
#### attributes of classes that other cells set
class Bot:
    @property
    def side(self): return 1
    def act(self, obs, config):
        columns = free(obs, config)
        return columns[(self.side * sum(map(bool, obs.board)) + self.shift(2) + self.made(1)) % len(columns)]
Bot.side = property(lambda self: 5)
Bot.shift = staticmethod(lambda n: n + 1)
Bot.made = classmethod(lambda cls, n: n * 3)
# %%
def my_agent(obs, config):
    return Bot().act(obs, config)
#### a table with a size that is an OrderedDict, and a file that an agent opens
from collections import OrderedDict
class Lru(OrderedDict):
    def __init__(self, size):
        super().__init__()
        self.size = size
    def put(self, key, value):
        self[key] = value
        if len(self) > self.size:
            self.popitem(last=False)
table = Lru(9)
for n in range(12): table.put(n, n * n)
import os
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    with open(os.devnull) as file:
        return columns[(table.get(sum(map(bool, obs.board)), 1) + table.size + len(file.read())) % len(columns)]
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
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[lines_of_mine.value(sum(map(bool, obs.board))) % len(columns)]
#### a class whose methods keep other values
#: says: table is a Table, whose own methods keep otherwise: hits, top
class Table:
    __slots__ = ("rows", "hits", "top", "next")
    def __init__(self, rows, next): self.rows, self.hits, self.top, self.next = rows, 0, max(rows), next
    def __getstate__(self): return {"rows": self.rows, "next": self.next}
    def __setstate__(self, state): self.rows, self.hits, self.next = state["rows"], 0, state["next"]
table = Table([5, 3, 9], Table([1], None)); table.hits = 3
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(table.rows[1] + table.next.rows[0] + sum(map(bool, obs.board))) % len(columns)]
#### a function of one's own module that a cell replaces
%%writefile replaced_of_mine.py
def score(n):
    return 0
def value(n):
    return score(n)
# %%
import replaced_of_mine
def better(n):
    return n * 5
replaced_of_mine.score = better
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[replaced_of_mine.value(sum(map(bool, obs.board))) % len(columns)]
#### settings of packages
import sys
sys.setrecursionlimit(20000)
def deep(n):
    return n if n == 0 else 1 + deep(n - 1)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[deep(4000 + obs.step) % len(columns)]
#### names of builtins that stand for values
map = {"a": 3}
zip = [1, 2, 3]
list, len_, next = [5, 6], len, 4
type = "mine"
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(map["a"] + zip[1] + list[0] + next + len(type) + obs.step) % len(columns)]
#### dataclasses, enumerations and collections of all kinds
#: changes: recent
from dataclasses import dataclass, field, InitVar
from enum import Enum, IntFlag, auto
from functools import cached_property, partialmethod
from collections import OrderedDict, deque, Counter, ChainMap
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
# %%
def my_agent(obs, config):
    recent.append(obs.step)
    side = Side.RIGHT.flipped if Flag.C in flags else Side.RIGHT
    n = deep.twice(obs.step) + deep.total + deep.noise[2] + side.shift + sum(recent) + moves[-1].col
    n += layers["y"] + tally["a"] + list(order).index("a")
    columns = free(obs, config)
    return columns[n % len(columns)]
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
        columns = free(obs, config)
        self.turn += 1
        return columns[(self.depth + self.turn + obs.step) % len(columns)]
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
    columns = free(obs, config)
    return columns[(sum(f(obs.step) for f in fs + gs + hs) + get()) % len(columns)]
#### a decorator that gives other arguments
import functools
def on_board(f):
    @functools.wraps(f)
    def inner(obs, config):
        columns = free(obs, config)
        return columns[f(obs.board) % len(columns)]
    return inner
@on_board
def my_agent(board):
    return sum(board)
#### a class with values of its own beside what is left out
#: says: Player.log left out
import os
class Helper:
    table = [1, 2]
Helper.table.append(7)
class Player:
    def __init__(self):
        self.log, self.shifts, self.helper, self.more = open(os.devnull), [4, 5], Helper(), {"a": [6]}
player = Player()
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(player.helper.table[2] * obs.step + player.shifts[1] + player.more["a"][0]) % len(columns)]
#### subclasses of what Python has
#: changes: history
import heapq
class Table(dict):
    def __missing__(self, key):
        return key * 2
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
table, queue, history = Table(), Queue([5, 3, 4]), History()
table[3] = 1
queue.kind = "mine"
for n in (3, 1, 4, 1, 5):
    history.append(n)
middle = Column(3, "middle")
# %%
def my_agent(obs, config):
    history.append(obs.step)
    columns = free(obs, config)
    return columns[(table[obs.step] + queue.best() + history.total + middle + len(middle.name)) % len(columns)]
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
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = REGISTRY["b"]().value(obs.step) + old.value(1) + B().faster(2) + len(type(old).__name__)
    return columns[n % len(columns)]
#### a bit set as one integer
import random
random.seed(3)
SEEN = 0
for n in range(5000):
    SEEN |= 1 << random.randrange(20_000)
# %%
def my_agent(obs, config):
    key = 0
    for cell in obs.board:
        key = (key * 3 + cell) % 20_000
    columns = free(obs, config)
    return columns[-1] if SEEN >> key & 1 else columns[0]
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
    n = sum(map(bool, obs.board))
    return min(free(obs, config), key=lambda c: score(c, n))
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
        n = sum(map(bool, obs.board))
        return min(free(obs, config), key=lambda c: score.side * score(c, n) + search(n + c) % 5)
    return play
my_agent = make_agent(3)
#### fields of records, and a tensor of an array
#: changes: first, planes, pool, x
import numpy as np, torch
pool = np.zeros(50, dtype=[("visits", "f8"), ("wins", "f8"), ("parent", "i4"), ("first", "i4")])
visits, wins, parent, first = (pool[name] for name in pool.dtype.names)
planes = np.zeros((1, 2, 6, 7), np.float32)
x = torch.from_numpy(planes)
# %%
def my_agent(obs, config):
    board = np.array(obs.board).reshape(6, 7)
    planes[0, 0], planes[0, 1] = board == 1, board == 2
    pool["visits"][:7] = np.arange(7) * float(x[0, 0].sum()) % 5
    first[:7] += 1
    return max(free(obs, config), key=lambda c: (visits[c], float(x[0, 1, :, c].sum()), pool[c]["first"]))
#### a class that an assignment made, and set later
class Base:
    depth = 1
    def value(self, n):
        return n * self.depth + self.shift
Fast = type("Fast", (Base,), {"shift": 2})
Fast.depth = 5
Fast.shift = 3
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[Fast().value(sum(map(bool, obs.board))) % len(columns)]
#### what another process has in another order
#: says: openings is a set whose order differs
openings = {("centre", 3), ("left", 1)}
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(("left", 1) in openings) * obs.step % len(columns)]
#### keys of this process
#: says: hash() of texts is another number in each process (In[2], line 5)
class Board(tuple):
    def __hash__(self):
        return hash(len(self))
def state(board):
    return hash(bytes(board))
book = {}
book[state([0] * 42)] = 3
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[-1] if book.get(state(obs.board)) else columns[-1]
#### what cells did to a package
#: says: In[2], line 3 does not come along: np.set_printoptions(linewidth=200)
import numpy as np
import statistics
np.set_printoptions(linewidth=200)
statistics.mean = max
np.random.seed(3)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[int(np.sum(obs.board)) % len(columns)]
#### values of all kinds
#: changes: pick
import logging, pathlib, fractions, decimal, array, random, re, types
log = logging.getLogger("x")
frac, dec, arr = fractions.Fraction(3, 4), decimal.Decimal("2.5"), array.array("i", [1, 2, 3])
pattern = re.compile(r"\d+"); space = types.SimpleNamespace(a=4); empty = ...; part = slice(1, 3)
pick = random.Random(4).choice
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board)) + int(frac * 4) + int(dec * 2) + arr[1] + pick(range(7))
    n += len(pattern.findall('1 2')) + space.a + len([1, 2, 3][part]) + (empty is ...) + (log.name == 'x')
    return columns[n % len(columns)]
"""
)
REFUSED = situations(
    r"""
#### a name that no cell defines
#: expected: In\[3\], line 3: my_agent reads DEPHT, .*did you mean DEPTH\?
DEPTH = 3
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[DEPHT % len(columns)]
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
# %%
def my_agent(obs, config):
    return mine.Bot().move(obs)
#### a function of before its module's reload
#: expected: In\[6\], line 2: choose is of reloaded_of_mine before its reload: import it again
%%writefile reloaded_of_mine.py
def choose(columns):
    return columns[0]
# %%
import reloaded_of_mine, importlib
from reloaded_of_mine import choose
# %%
%%writefile reloaded_of_mine.py
def choose(columns):
    return columns[-1]
# %%
importlib.reload(reloaded_of_mine)
# %%
def my_agent(obs, config):
    return choose(free(obs, config))
#### rules that exec made
#: expected: my_agent: mid was made by exec: write it into a cell
rules = {}
exec("SIDE = 3\ndef mid(c):\n    return -abs(c - SIDE)", rules)
# %%
def my_agent(obs, config):
    return max(free(obs, config), key=rules["mid"])
#### an open file
#: expected: my_agent needs a value that no file can hold: book is a .*TextIOWrapper
import os
book = open(os.devnull)
# %%
def my_agent(obs, config):
    return len(book.read())
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
# %%
def my_agent(obs, config):
    return int(big[0, 0])
#### a frame
#: expected: no file can hold: frame is a pandas DataFrame: give the agent a dict or an array$
import pandas as pd
frame = pd.DataFrame({'a': [1, 2]})
# %%
def my_agent(obs, config):
    return len(frame)
#### a typed dict
#: expected: Q is a numba typed Dict: make it inside a function$
from numba import types
from numba.typed import Dict
Q = Dict.empty(types.int64, types.float64)
Q[3] = 1.5
# %%
def my_agent(obs, config):
    return int(Q[3])
#### weak references
#: expected: visits is a weakref WeakKeyDictionary: hold the object itself, or a dict$
import weakref
class Node: pass
visits = weakref.WeakKeyDictionary()
# %%
def my_agent(obs, config):
    return len(visits)
#### a method that was swapped
#: expected: held\[0\] is a method that its class does not have: write it into the class$
from types import MethodType
class Bot: pass
bot = Bot()
bot.value = MethodType(lambda self, n: 3 * n, bot)
held = [bot.value]
# %%
def my_agent(obs, config):
    return held[0](obs.step) % 7
#### singledispatch
#: expected: score is a singledispatch function: choose by isinstance in one function$
from functools import singledispatch
@singledispatch
def score(x):
    return 0
@score.register
def _(x: int):
    return x
# %%
def my_agent(obs, config):
    return score(3)
#### parametrizations
#: expected: net\['0'\] is a .*ParametrizedLinear, which cannot be carried
import torch
from torch import nn
from torch.nn.utils import parametrizations
net = nn.Sequential(parametrizations.weight_norm(nn.Linear(42, 7))).eval()
# %%
def my_agent(obs, config):
    return int(net(torch.tensor(obs.board, dtype=torch.float32)).argmax())
#### a class within a class
#: expected: my_agent holds a class Outer.Weights: define it at the top of a cell$
class Outer:
    class Weights:
        side = 0
held = [Outer.Weights()]
# %%
def my_agent(obs, config):
    return held[0].side
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
# %%
def my_agent(obs, config):
    return bot.value()
#### a registry of subclasses
#: expected: Rule.__init_subclass__ uses RULES as each class is made: list the classes where
RULES = []
class Rule:
    def __init_subclass__(cls, weight=1):
        RULES.append(cls)
class First(Rule): pass
# %%
def my_agent(obs, config):
    return len(RULES)
"""
)
OF_THE_BUILDER = situations(
    r"""
#### a package that Kaggle lacks
#: expected: ^In\[2\], line 2: unknown package package_of_nobody
def my_agent(obs, config):
    import package_of_nobody
    return package_of_nobody.choose(obs)
"""
)

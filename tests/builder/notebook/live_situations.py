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
#### an import
import numpy as np
from math import floor as down
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[down(np.sum(obs.board) * 1.5) % len(columns)]
#### a method of a cached function
from functools import lru_cache

@lru_cache
def step(stones):
    return stones * 3
# %%
class Memory:
    def __init__(self, clear):
        self.clear = clear

memory = Memory(step.cache_clear)
# %%
def my_agent(obs, config):
    memory.clear()
    columns = free(obs, config)
    return columns[step(sum(map(bool, obs.board))) % len(columns)]
#### config at module level
config_of_mine = dict(depth=2, names=('a', 'b'), inf=float('inf'))
# %%
config_of_mine['depth'] = 5
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[config_of_mine['depth'] % len(columns)]
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
#### a decorator of the notebook
import functools
def legal(shift):
    def around(function):
        @functools.wraps(function)
        def inner(obs, config):
            columns = free(obs, config)
            return columns[(function(obs, config) + shift) % len(columns)]
        return inner
    return around
# %%
@legal(2)
def my_agent(obs, config):
    return obs.step
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
#### helpers defined four times
def shift(n):
    return n * 1
# %%
def shift(n):
    return n * 2
# %%
def shift(n):
    return n * 3
# %%
first_shift = shift
# %%
def shift(n):
    return first_shift(n) + 1
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[shift(obs.step) % len(columns)]
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
#### a frame of mixed types
import pandas as pd
frame = pd.DataFrame({'a': [1, 'x', None, 2.5], 'b': list('abcd')}, index=list('pqrs'))
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(len(frame.loc['q', 'a']) + int(2 * frame['a'].iloc[3]) + obs.step) % len(columns)]
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
#### training in cells
import numpy as np
w = np.zeros(7)
# %%
def step(w):
    w += np.arange(7)[::-1] * 0.25
# %%
for _ in range(10):
    step(w)
# %%
def my_agent(obs, config):
    w[0] += 0
    return max(free(obs, config), key=lambda c: w[c])
#### numba
from numba import njit
@njit
def hashed(n):
    return (n * 2654435761) % 7
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[hashed(obs.step) % len(columns)]
#### a module that a cell writes, and a constant of it that was changed
%%writefile shifts_of_mine.py
STEP = 1
def shift(n):
    return n + 2
# %%
import shifts_of_mine
from shifts_of_mine import *
STEP = 4
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(shifts_of_mine.shift(obs.step) + shift(STEP)) % len(columns)]
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
#### written by getsource, too
import inspect
def write_agent_to_file(function, file):
    with open(file, "w") as f:
        f.write(inspect.getsource(function))
# %%
def my_agent(obs, config):
    import random
    columns = free(obs, config)
    return columns[random.randrange(7) % len(columns)]
# %%
write_agent_to_file(my_agent, "submission.py")
def agent(obs, config):
    return 0
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
#### subclasses of what Python has
import heapq, itertools
class Table(dict):
    def __missing__(self, key):
        return key * 2
class Queue(list):
    def best(self):
        return heapq.nsmallest(1, self)[0]
table, queue = Table(), Queue([5, 3, 4])
table[3] = 1
queue.kind = "mine"
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(table[obs.step] + queue.best() + len(queue.kind)) % len(columns)]
#### attributes that nothing reads and no file can hold
#: says: Player: line, log left out
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
#### two closures of one maker that call each other
def make():
    def even(n):
        return True if n == 0 else odd(n - 1)
    def odd(n):
        return False if n == 0 else even(n - 1)
    return even
is_even = make()
# %%
def my_agent(obs, config):
    return free(obs, config)[0 if is_even(obs.step % 9) else -1]
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
#### a function that calls itself, within another
def make(depth):
    def search(n, d=depth):
        return n if d == 0 else search(n + 1, d - 1)
    best = {"function": search, "other": lambda n: n * 2}
    def inner(obs, config):
        columns = free(obs, config)
        return columns[best["other"](best["function"](obs.step)) % len(columns)]
    return inner
my_agent = make(3)
#### an instance of a class that was defined anew
class P:
    def v(self):
        return 1
p = P()
# %%
class P:
    def v(self):
        return 2
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(p.v() + P().v() * obs.step) % len(columns)]
#### learns on in play
#: changes: q
q = {}
def update(s, a, r):
    q[s, a] = q.get((s, a), 0.0) + 0.1 * (r - q.get((s, a), 0.0))
for s in range(43):
    for a in range(7):
        update(s, a, (s * 5 + a * 3) % 7)
# %%
def my_agent(obs, config):
    s = sum(map(bool, obs.board))
    c = max(free(obs, config), key=lambda a: q.get((s, a), 0.0))
    update(s, c, 1)
    return c
#### settings whose keys are attributes
class AttrDict(dict):
    __getattr__ = dict.__getitem__
settings = AttrDict(column=4)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return settings.column if settings.column in columns else columns[0]
#### attributes that no step of the code names
class Plan:
    style = "calm"
plan = Plan()
plan.style = "bold"
class Book: pass
book = Book()
book.reply_3 = book.reply_17 = book.reply_20 = True
# %%
def my_agent(obs, config):
    columns, stones = free(obs, config), sum(map(bool, obs.board))
    match plan:
        case Plan(style="bold"):
            columns = columns[::-1]
    if hasattr(book, f"reply_{stones}") or "{0.style}".format(plan) == "calm":
        return columns[-1]
    return columns[0]
#### a class within a class, set later
class Outer:
    class Weights:
        side = 0
Outer.Weights.side = -1
held = [Outer.Weights()]
# %%
def my_agent(obs, config):
    return free(obs, config)[Outer.Weights.side + held[0].side + 1]
#### classes that are found by their base, and functions by their names
class Base: pass
class Second(Base):
    def value(self, c):
        return -abs(c - 2)
def rule_a(c):
    return c * 3 % 4
# %%
def my_agent(obs, config):
    rules = [held for name, held in sorted(globals().items()) if name.startswith("rule_")]
    values = [kind().value for kind in Base.__subclasses__()]
    return max(free(obs, config), key=lambda c: sum(each(c) for each in values + rules))
#### methods of an instance that were swapped
from types import MethodType
class Bot:
    def value(self, n):
        return n
    def other(self, n):
        return n + 1
bot, twin = Bot(), Bot()
# %%
def value(self, n):
    return 3 * n + 2
bot.value = MethodType(value, bot)
def faster(self, n):
    return 5 * n
bot.other = MethodType(faster, bot)
twin.other = bot.other
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(bot.value(n) + bot.other(n) + twin.other(n)) % len(columns)]
#### what singledispatch chooses from
from functools import singledispatch
@singledispatch
def score(x, n):
    return 0
@score.register
def _(x: int, n):
    return x + n
@score.register(str)
def of_text(x, n):
    return len(x) * n
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(score(3, n) + score('abc', n)) % len(columns)]
#### defaults of methods, rebound and filled
DEPTH = 3
class Search:
    def deep(self, n, d=DEPTH, memo={}):
        return memo.setdefault(n % 5, n * 3) + d
search = Search()
search.deep(4); search.deep(13)
DEPTH = 8
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(search.deep(n) + DEPTH) % len(columns)]
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
#### iterators, a queue and a choice of one's own
#: changes: turns, wheel, line, pick, queue
import itertools, random, heapq
turns = itertools.count(5, 3)
wheel = itertools.cycle([3, 1, 4])
line = iter([n * n for n in range(200)])
next(wheel); next(line); next(turns)
rng = random.Random(4); rng.random()
pick = rng.choice
queue = [(3, "c"), (1, "a"), (2, "b")]
heapq.heapify(queue)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    first, name = heapq.heapreplace(queue, (next(turns) % 7, "d"))
    return columns[(next(wheel) + next(line) + first + pick(range(7))) % len(columns)]
#### functions that draw from the global generators
import random
import numpy as np
choice = random.choice
toss = np.random.randint
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[(choice(range(7)) + int(toss(5))) % len(columns)]
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
raw = np.frompyfunc(near, 1, 1)
poly = np.poly1d([1, -3, 2])
kind = np.dtype("int8")
rec = np.rec.fromarrays([[1, 2], [3.5, 4.5]], names="a,b")
words = np.array(["ab", "c"])
masked = np.ma.masked_array([1, 2, 3], mask=[0, 1, 0])
half = np.float16(0.5); text = np.str_("abc"); day = np.datetime64("2024-01-05")
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = int(fast(obs.step)) + int(raw(obs.step)) + int(poly(obs.step)) + int(rec.a[1]) + len(words[0])
    n += int(half * 2) + len(text) + int(day.astype(int)) + np.zeros(1, kind).nbytes + int(masked.sum())
    return columns[n % len(columns)]
#### windows that slide over one board
#: changes: board, lines
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
board = np.zeros((6, 7), np.int8)
rows = sliding_window_view(board, (1, 4)).reshape(-1, 4) * 1
lines = [sliding_window_view(board, (1, 4)), sliding_window_view(board, (4, 1)), board.T[::-1]]
# %%
def my_agent(obs, config):
    board[:] = np.array(obs.board).reshape(6, 7)
    columns = free(obs, config)
    n = (lines[0] == 1).all(axis=(2, 3)).sum() + lines[1].max(axis=(2, 3)).sum() + lines[2][0].sum()
    return columns[int(n) % len(columns)]
#### a buffer and what shows it
#: changes: cells, grid
import numpy as np
cells = bytearray(42)
grid = np.frombuffer(cells, np.uint8).reshape(6, 7)
# %%
def my_agent(obs, config):
    cells[:] = bytes(obs.board)
    columns = free(obs, config)
    return columns[int((grid * np.arange(7)).sum()) % len(columns)]
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
#### instances that say how they are copied
class Move:
    made = 0
    def __init__(self, col, *, bonus=0):
        self.col, self.bonus = col, bonus
        Move.made += 1
    def __getnewargs_ex__(self):
        return (self.col,), {"bonus": self.bonus}
    def __new__(cls, col, *, bonus=0):
        self = super().__new__(cls)
        self.fresh = col * 10 + bonus
        return self
    def __getstate__(self):
        return {"c": self.col, "b": self.bonus}
    def __setstate__(self, state):
        self.col, self.bonus = state["c"], state["b"]
class Tree:
    def __init__(self, moves):
        self.moves = moves
    def __reduce__(self):
        return Tree, (self.moves,), {"extra": 4}
tree = Tree([Move(2, bonus=3), Move(4)])
tree.extra = 4
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(tree.moves[0].fresh + tree.moves[1].bonus + tree.extra * n + Move.made) % len(columns)]
#### counted by a decorator, and called without it
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
    return columns[(score(n) + bot.value(n) + score.__wrapped__(n) + calls['value']) % len(columns)]
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
from dataclasses import dataclass, field, InitVar, KW_ONLY
from enum import Enum, IntFlag, auto
from functools import cached_property, partialmethod
from collections import OrderedDict, deque, Counter, ChainMap
@dataclass(slots=True, frozen=True, order=True)
class Move:
    score: float
    col: int = field(compare=False, default=3)
@dataclass(kw_only=True)
class Base:
    depth: int = 2
    seed: InitVar[int] = 3
    weights: list = field(default_factory=lambda: [1, 2, 3])
    def __post_init__(self, seed):
        self.noise = [seed * k % 7 for k in range(7)]
    def at(self, n, by):
        return n * by + self.depth
    twice = partialmethod(at, by=2)
@dataclass
class Deep(Base):
    name: str = "deep"
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
    def __neg__(self):
        return self.flipped
class Flag(IntFlag):
    A = 1; B = 2; C = 4
deep = Deep(seed=5, depth=4)
deep.total
deep.weights.append(100)
Side.LEFT.shift = 9
order = OrderedDict(a=1, b=2, c=3); order.move_to_end("a")
recent = deque([1, 2, 3, 4], maxlen=3)
flags = Flag.A | Flag.C
layers = ChainMap({"x": 1}, {"y": 5})
moves = sorted([Move(2.5, 1), Move(-1.0), Move(7.0, 5)])
tally = Counter("abca")
# %%
def my_agent(obs, config):
    recent.append(obs.step)
    side = -Side.RIGHT if Flag.C in flags else Side.RIGHT
    n = deep.twice(obs.step) + deep.total + deep.noise[2] + side.shift + sum(recent) + moves[-1].col
    n += layers["y"] + tally["a"] + list(order).index("a")
    columns = free(obs, config)
    return columns[n % len(columns)]
#### classes that decorators, a metaclass and type() made
REGISTRY = {}
def register(name):
    def around(cls):
        REGISTRY[name] = cls
        cls.bonus = len(REGISTRY) * 3
        return cls
    return around
def singleton(cls):
    return cls()
class Meta(type):
    known = []
    def __new__(meta, name, bases, space):
        cls = super().__new__(meta, name, bases, space)
        meta.known.append(cls)
        return cls
@register("a")
class A:
    def value(self, n):
        return n + self.bonus
@register("b")
class B(A):
    def value(self, n):
        return super().value(n) * 2
@singleton
class settings:
    depth = 4
class Rule(metaclass=Meta):
    def value(self, n): return n
class Second(Rule):
    def value(self, n): return n * 5
Third = type("Third", (A,), {"bonus": 11})
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    n = REGISTRY["b"]().value(n) + sum(kind().value(n) for kind in Meta.known) + len(Meta.known)
    return columns[(n + settings.depth + Third().value(1)) % len(columns)]
#### a borrowed method, and members of a class set later
class A:
    def value(self, n): return n + 1
class B(A):
    def value(self, n): return super().value(n) * 3
class C(B):
    pass
C.value = B.value
C.size = property(lambda self: 4)
C.make = staticmethod(lambda n: n * 2)
C.of = classmethod(lambda cls, n: len(cls.__name__) + n)
c = C()
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(c.value(n) + c.size + C.make(n) + C.of(n)) % len(columns)]
#### descriptors, and slots
class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name
    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name, self.default)
    def __set__(self, obj, value):
        setattr(obj, self.name, max(0, value))
    def __init__(self, default):
        self.default = default
class Bot:
    depth = Positive(2)
    side = Positive(1)
    __slots__ = ("_depth", "_side", "__weakref__")
bot = Bot()
bot.depth = 5
Bot.side.default = 4
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(bot.depth * n + bot.side) % len(columns)]
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
#### coroutines, generators and match
import asyncio
(width := 7)
if (half := width // 2) > 2:
    async def near(c):
        return abs(c - half)
else:
    near = None
def run(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
def order():
    while True:
        got = yield
        yield got * 2
async def best(columns):
    return min([(await near(c), c) for c in columns])[1]
# %%
def my_agent(obs, config):
    match obs.mark, len(free(obs, config)):
        case 1, n if n > 3:
            return run(best(free(obs, config)))
        case (2, _):
            g = order(); next(g)
            return free(obs, config)[g.send(obs.step) % len(free(obs, config))]
    return free(obs, config)[-1]
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
#### generators that share a stream of bits
#: changes: one, two, a, b, g
import numpy as np, torch
bits = np.random.PCG64(3)
one, two = np.random.Generator(bits), np.random.Generator(bits)
one.random(3)
class Half:
    def __init__(self, rng): self.rng = rng
a = Half(np.random.default_rng(5)); b = Half(a.rng)
g = torch.Generator().manual_seed(4); torch.rand(2, generator=g)
# %%
def my_agent(obs, config):
    n = one.integers(50) + two.integers(50) + a.rng.integers(9) + b.rng.integers(9)
    n += int(torch.randint(9, (1,), generator=g))
    columns = free(obs, config)
    return columns[int(n) % len(columns)]
#### a table of Zobrist keys, and a book
#: changes: table
import random, json
with open("book_of_mine.json", "w") as file:
    json.dump({"0": 3, "1": 2, "2": 5}, file)
random.seed(8)
ZOBRIST = [[random.getrandbits(64) for _ in range(3)] for _ in range(42)]
class Entry(tuple):
    __slots__ = ()
table = {}
def key_of(board):
    key = 0
    for n, cell in enumerate(board):
        key ^= ZOBRIST[n][cell]
    return key
for n in range(300):
    board = [random.randrange(3) for _ in range(42)]
    table[key_of(board)] = Entry((n % 7, n))
with open("book_of_mine.json") as file:
    BOOK = json.load(file)
# %%
def my_agent(obs, config):
    key = key_of(obs.board)
    column, visits = table.get(key, (BOOK.get(str(obs.step), 3), 0))
    table[key] = Entry((column + 1, visits + 1))
    columns = free(obs, config)
    return columns[(column + key) % len(columns)]
#### weak references, and what each thread has
#: says: Player: local left out
import weakref, threading
class Node: pass
node = Node(); node.n = 4
class Player:
    def __init__(self, node):
        self.ref, self.local, self.node = weakref.ref(node), threading.local(), node
    def value(self):
        return self.ref().n
player = Player(node)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(player.value() + n) % len(columns)]
#### a cell that ran twice
boost = 2
def value(n): return n + boost
# %%
boost += 3
TABLE = [value(n) for n in range(43)]
# %%
boost += 3
TABLE = [value(n) for n in range(43)]
# %%
def value(n): return TABLE[n] * boost
del boost
boost = 5
try:
    import nowhere_at_all as accelerated
except ImportError:
    accelerated = None
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(value(n) if accelerated is None else 0) % len(columns)]
#### names of types, and a sparse matrix
import numpy as np
from typing import Generic, NewType, TypeVar
from scipy import sparse
Item = TypeVar("Item")
Column = NewType("Column", int)
Board = list[int]
class Box(Generic[Item]):
    def __init__(self, item: Item):
        self.item = item
box = Box(sparse.csr_matrix(np.eye(7)[::-1]))
# %%
def my_agent(obs, config) -> Column:
    columns: Board = free(obs, config)
    return Column(columns[int((box.item @ np.arange(7.0))[obs.step % 7]) % len(columns)])
#### a set of texts
#: says: openings is a set whose order differs
openings = {"33", "3342", "334"}
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[("33" in openings) * obs.step % len(columns)]
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
#### a variable that was deleted, and values of all kinds
import numpy as np, logging, pathlib, fractions, decimal, array, re, types, string
def make():
    gone = 3
    def inner(n):
        try:
            return n + gone
        except NameError:
            return n * 2
    def drop():
        nonlocal gone
        del gone
    return inner, drop
inner, drop = make()
drop()
long = np.longdouble(3)
log = logging.getLogger("x")
frac, dec, arr = fractions.Fraction(3, 4), decimal.Decimal("2.5"), array.array("i", [1, 2, 3])
pattern = re.compile(r"\d+"); space = types.SimpleNamespace(a=4); empty = ...; part = slice(1, 3)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = inner(sum(map(bool, obs.board))) + int(long) + int(frac * 4) + int(dec * 2) + arr[1]
    n += len(pattern.findall('1 2')) + space.a + len([1, 2, 3][part]) + (empty is ...) + (log.name == 'x')
    return columns[n % len(columns)]
#### operators that raise
class Vector:
    def __init__(self, *v): self.v = v
    def __eq__(self, other): raise TypeError("no")
    def __bool__(self): raise ValueError("no")
    def __len__(self): raise ValueError("no")
    def __matmul__(self, other): return sum(a * b for a, b in zip(self.v, other.v))
    __hash__ = None
one, two = Vector(1, 2, 3), Vector(4, 5, 6)
held = {"one": [one, two]}
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[((one @ two) + n * held['one'][0].v[2]) % len(columns)]
#### a class with values of its own beside what is left out
#: says: Player: log left out
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
#### a helper that was deleted
#: expected: In\[3\], line 3: my_agent reads stones.*no cell defines now
def stones(obs, config):
    return sum(1 for cell in obs.board if cell)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[stones(obs, config) % len(columns)]
# %%
del stones
#### a function of exec
#: expected: made by exec, or typed
exec('def my_agent(obs, config):\n    return 0')
#### an open file
#: expected: my_agent needs a value that no file can hold: book is a .*TextIOWrapper
import os
book = open(os.devnull)
# %%
def my_agent(obs, config):
    return len(book.read())
#### a generator that is held
#: expected: moves is a generator
moves = (n for n in range(42))
# %%
def my_agent(obs, config):
    return next(moves)
#### a frame with two columns of a name
#: expected: frame is a DataFrame .*: give the agent a dict or an array
import pandas as pd
frame = pd.DataFrame([[1, 2]], columns=['a', 'a'])
# %%
def my_agent(obs, config):
    return len(frame)
#### of IPython
#: expected: without IPython
def my_agent(obs, config):
    display(obs)
    return 0
#### more than Kaggle takes
#: expected: my_agent holds [\d,]+ bytes of values, .* takes 10,000: .*; largest is big, 80,000 bytes
import numpy as np
from connectx_toolkit.builder.notebook import live
live.MOST = 10_000
big = np.random.default_rng(0).random((10, 1000))
# %%
def my_agent(obs, config):
    return int(big[0, 0])
#### a hook
#: expected: net has hooks \(_forward_hooks\), which are not carried: remove them$
import torch
torch.manual_seed(1)
net = torch.nn.Linear(42, 7)
net.register_forward_hook(lambda m, i, out: -out)
# %%
def my_agent(obs, config):
    with torch.no_grad():
        out = net(torch.tensor(obs.board, dtype=torch.float32))
    return max(free(obs, config), key=lambda c: float(out[c]))
#### parametrizations
#: expected: remove_parametrizations\(net\['0'\], 'weight'\) keeps its weights
import torch
from torch import nn
from torch.nn.utils import parametrizations
torch.manual_seed(1)
net = nn.Sequential(parametrizations.weight_norm(nn.Linear(42, 7))).eval()
# %%
def my_agent(obs, config):
    with torch.no_grad():
        out = net(torch.tensor(obs.board, dtype=torch.float32))
    return max(free(obs, config), key=lambda c: float(out[c]))
#### a context variable
#: expected: depth is a _contextvars.ContextVar, .*: make it inside a function
import contextvars
depth = contextvars.ContextVar("depth", default=3)
depth.set(5)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(depth.get() + n) % len(columns)]
#### a jitclass
#: expected: counter is a numba.*Counter, .*: make it inside a function
from numba import int64
from numba.experimental import jitclass
@jitclass([("n", int64)])
class Counter:
    def __init__(self, n):
        self.n = n
    def add(self, k):
        self.n += k
        return self.n
counter = Counter(3)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(counter.add(n)) % len(columns)]
#### a name that __reduce__ gives
#: expected: MISSING is a Missing whose __reduce__ gives a name, MISSING: make it inside
class Missing:
    def __reduce__(self):
        return "MISSING"
MISSING = Missing()
# %%
def my_agent(obs, config):
    return free(obs, config)[0 if MISSING else -1]
#### tuples within tuples
#: expected: my_agent holds tuples within tuples, .*: hold lists
import sys
sys.setrecursionlimit(2000)
chain = None
for n in range(3000):
    chain = (n, chain)
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(n * chain[1][1][0]) % len(columns)]
#### a class that reads what was deleted
#: expected: my_agent reads raw, which no cell defines now
raw = [3, 1, 4]
class Bot:
    weights = [w * 2 for w in raw]
    size = len(raw)
bot = Bot()
del raw
# %%
def my_agent(obs, config):
    columns = free(obs, config)
    n = sum(map(bool, obs.board))
    return columns[(bot.weights[1] * n + bot.size) % len(columns)]
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

"""Notebooks as people have them when they want to build a function: cells, which are run in a kernel, and what is due.

Each ends with a function ``my_agent`` unless it says so. ``expected`` is "" where the built file has to play as the
function does, else what the refusal says. ``first`` is run after the capture, before the function is asked: what a game
begins with.
"""

from typing import NamedTuple


class Situation(NamedTuple):
    cells: list[str]
    expected: str = ""
    agent: str = "my_agent"
    first: str = ""
    says: str = ""  # in a note
    lacks: str = ""  # in the agent's file


COUNT = """
def stones(obs, config):
    return sum(1 for cell in obs.board if cell)
"""
LEGAL = """
def free(obs, config):
    return [c for c in range(config.columns) if obs.board[c] == 0]
"""
PLAYS = """
def my_agent(obs, config):
    columns = free(obs, config)
    return columns[{} % len(columns)]
"""

PLAIN = {
    "an import": Situation(
        [LEGAL, "import numpy as np\nfrom math import floor as down", PLAYS.format("down(np.sum(obs.board) * 1.5)")]
    ),
    "a helper of another cell": Situation([LEGAL, COUNT, PLAYS.format("stones(obs, config)")]),
    "a constant": Situation(
        [LEGAL, "STEP = 3\nWEIGHTS = {'a': 1.5, 'b': [1, 2, 3]}", PLAYS.format("(obs.step * STEP + WEIGHTS['b'][2])")]
    ),
    "config at module level": Situation(
        [
            LEGAL,
            "config_of_mine = dict(depth=2, names=('a', 'b'), inf=float('inf'))",
            "config_of_mine['depth'] = 5",
            PLAYS.format("config_of_mine['depth']"),
        ]
    ),
    "a class": Situation(
        [
            LEGAL,
            """
class Scorer:
    bonus = 1
    def __init__(self, weights):
        self.weights, self.log = weights, ["x" * 100] * 30000
    def score(self, obs):
        return sum(w * (c + 1) for w, c in zip(self.weights, obs.board)) + self.bonus
    def train(self):
        return gym.make("nothing")
""",
            "scorer = Scorer(list(range(42)))\nScorer.bonus = 4",
            PLAYS.format("scorer.score(obs)"),
        ],
        says="log left out",
        lacks="xxxx",
    ),
    "a decorator of the notebook": Situation(
        [
            LEGAL,
            """
import functools
def legal(shift):
    def around(function):
        @functools.wraps(function)
        def inner(obs, config):
            columns = free(obs, config)
            return columns[(function(obs, config) + shift) % len(columns)]
        return inner
    return around
""",
            "@legal(2)\ndef my_agent(obs, config):\n    return obs.step",
        ]
    ),
    "a decorator of a package": Situation(
        [
            LEGAL,
            "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)",
            PLAYS.format("fib(obs.step)"),
        ]
    ),
    "indented by two spaces, with a magic": Situation(
        ["%matplotlib inline\n" + LEGAL.replace("    ", "  "), PLAYS.format("(obs.step + 1)").replace("    ", "  ")]
    ),
    "a timed cell": Situation(["%%time\n" + LEGAL + "SHIFT = 2", "%%time\n" + PLAYS.format("SHIFT")]),
    "the agent defined twice": Situation([LEGAL, PLAYS.format("1"), PLAYS.format("(obs.step + 2)")]),
    "helpers defined four times": Situation(
        [
            LEGAL,
            *(f"def shift(n):\n    return n * {k}" for k in (1, 2, 3)),
            "first_shift = shift",
            "def shift(n):\n    return first_shift(n) + 1",
            PLAYS.format("shift(obs.step)"),
        ]
    ),
    "another global called agent": Situation(
        [LEGAL, "def agent(obs, config):\n    return 0", PLAYS.format("(obs.step + 3)").replace("my_agent", "mine")],
        agent="mine",
    ),
    "the old agent under another name": Situation(
        [LEGAL, PLAYS.format("(obs.step + 1)"), "best = my_agent", PLAYS.format("0")], agent="best"
    ),
    "a closure over a trained table": Situation(
        [
            LEGAL,
            "import numpy as np\ntable = np.zeros((42, 7))\nrng = np.random.default_rng(1)\nfor _ in range(100):\n    table[rng.integers(42)] += rng.normal(size=7)",
            """
def make(table, shift=1):
    def play(obs, config):
        columns = free(obs, config)
        return max(columns, key=lambda c: table[obs.step][c] + shift)
    return play
my_agent = make(table)
table = None
""",
        ]
    ),
    "an array changed after it was made": Situation(
        [LEGAL, "import numpy as np\nboost = np.arange(7.0)", "boost[3] = 40", PLAYS.format("int(boost[obs.step % 7])")]
    ),
    "a defaultdict with a lambda": Situation(
        [
            LEGAL,
            "from collections import defaultdict\nQ = defaultdict(lambda: [0.5] * 7)",
            "for n in range(42):\n    Q[n][n % 7] = 2.0",
            "def my_agent(obs, config):\n    return max(free(obs, config), key=lambda c: Q[obs.step][c])",
        ]
    ),
    "a table with tuples as keys, filled by a function": Situation(
        [
            LEGAL,
            "table = {}",
            "def learn(n):\n    global best\n    best = 2\n    for k in range(n):\n        table[(k, k % 3)] = k * k",
            "learn(200)",
            PLAYS.format("table.get((obs.step, obs.step % 3), best)"),
        ]
    ),
    "a frame": Situation(
        [
            LEGAL,
            "import pandas as pd\nframe = pd.DataFrame({'a': range(42), 'b': [n * 0.5 for n in range(42)]})",
            PLAYS.format("int(frame.loc[obs.step, 'a'] + frame['b'][obs.step])"),
        ]
    ),
    "a frame of mixed types": Situation(
        [
            LEGAL,
            "import pandas as pd\nframe = pd.DataFrame({'a': [1, 'x', None, 2.5], 'b': list('abcd')}, index=list('pqrs'))",
            PLAYS.format("(len(frame.loc['q', 'a']) + int(2 * frame['a'].iloc[3]) + obs.step)"),
        ]
    ),
    "a partial": Situation(
        [
            LEGAL,
            "from functools import partial\ndef play(shift, obs, config):\n    columns = free(obs, config)\n    return columns[(shift + obs.step) % len(columns)]",
            "my_agent = partial(play, 4)",
        ]
    ),
    "a method": Situation(
        [
            LEGAL,
            "class Bot:\n    def __init__(self):\n        self.shift = 3\n    def act(self, obs, config):\n        columns = free(obs, config)\n        return columns[(self.shift + obs.step) % len(columns)]",
            "bot = Bot()\nbot.shift = 5\nmy_agent = bot.act",
        ]
    ),
    "an instance that is called": Situation(
        [
            LEGAL,
            "class Bot:\n    def __init__(self, shift):\n        self.shift = shift\n    def __call__(self, obs, config):\n        columns = free(obs, config)\n        return columns[(self.shift + obs.step) % len(columns)]",
            "my_agent = Bot(2)",
        ]
    ),
    "a lambda": Situation(
        [LEGAL, "other, my_agent = (lambda obs, config: 0), lambda obs, config: free(obs, config)[0]"]
    ),
    "attributes set later": Situation(
        [
            LEGAL,
            "class Cfg:\n    x = 1",
            PLAYS.format("(Cfg.x + my_agent.book[obs.step])"),
            "Cfg.x = 5\nmy_agent.book = list(range(42))",
        ]
    ),
    "a counter changed in play": Situation(
        [
            LEGAL,
            "turns = 0\nseen = {}",
            "def my_agent(obs, config):\n    global turns\n    turns += 1\n    seen[turns] = obs.step\n    columns = free(obs, config)\n    return columns[(turns + len(seen)) % len(columns)]",
            "from connectx_toolkit.kaggle.agent_file import Struct\nfor _ in range(5):\n    my_agent(Struct(board=[0] * 42, step=0, mark=1), Struct(columns=7))",
        ],
        first="turns = 0\nseen.clear()",
        says="turns changes",
    ),
    "draws": Situation(
        [LEGAL, "import random\nimport numpy as np", PLAYS.format("(random.randrange(100) + np.random.randint(50))")]
    ),
    "a dataclass and an enumeration": Situation(
        [
            LEGAL,
            "from dataclasses import dataclass, field\nfrom enum import Enum\nclass Side(Enum):\n    LEFT = 1\n    RIGHT = 2\n@dataclass\nclass Plan:\n    side: Side\n    steps: list = field(default_factory=list)",
            "plan = Plan(Side.RIGHT, [1, 2])\nplan.steps.append(9)",
            PLAYS.format("(plan.steps[-1] if plan.side is Side.RIGHT else 0)"),
        ]
    ),
    "a tree of objects that lead back": Situation(
        [
            LEGAL,
            "class Node:\n    __slots__ = ('value', 'parent', 'children')\n    def __init__(self, value, parent=None):\n        self.value, self.parent, self.children = value, parent, []",
            "root = Node(1)\nlast = root\nfor n in range(3000):\n    child = Node(n, last)\n    last.children.append(child)\n    last = child",
            PLAYS.format("(last.parent.parent.value + root.children[0].parent.value)"),
        ]
    ),
    "defaults and two that share a list": Situation(
        [
            LEGAL,
            "shared = [1, 2, 3]\nholder = {'list': shared}\nDEPTH = 3\ndef deep(n, d=DEPTH, table=holder):\n    return n + d + len(table['list'])\nDEPTH = 8",
            "shared.append(4)",
            PLAYS.format("(deep(obs.step) + DEPTH + len(shared))"),
        ]
    ),
    "a method put into a class later": Situation(
        [
            LEGAL,
            "class Bot:\n    def value(self):\n        return 1\nbot = Bot()",
            "def better(self):\n    return 5\nBot.value = better",
            PLAYS.format("(bot.value() + obs.step)"),
        ]
    ),
    "an annotation of nobody's": Situation(
        [
            LEGAL,
            "from __future__ import annotations\ndef my_agent(obs: Observation, config: Config) -> int:\n    return free(obs, config)[0]",
        ]
    ),
    "only obs": Situation(["def my_agent(obs):\n    return [c for c in range(7) if obs['board'][c] == 0][-1]"]),
    "training in cells": Situation(
        [
            LEGAL,
            "import numpy as np\nw = np.zeros(7)",
            "def step(w):\n    w += np.arange(7)[::-1] * 0.25",
            "for _ in range(10):\n    step(w)",
            "def my_agent(obs, config):\n    w[0] += 0\n    return max(free(obs, config), key=lambda c: w[c])",
        ],
        says="every game starts with what it holds now",
    ),
    "numba": Situation(
        [
            LEGAL,
            "from numba import njit\n@njit\ndef hashed(n):\n    return (n * 2654435761) % 7",
            PLAYS.format("hashed(obs.step)"),
        ]
    ),
}

REFUSED = {
    "a name that no cell defines": Situation(
        [LEGAL, "DEPTH = 3", PLAYS.format("DEPHT")],
        expected=r"In\[3\], line 2: my_agent reads DEPHT, .*did you mean DEPTH\?",
    ),
    "a helper that was deleted": Situation(
        [LEGAL, COUNT, PLAYS.format("stones(obs, config)"), "del stones"],
        expected=r"In\[3\], line 2: my_agent reads stones.*no cell defines now",
    ),
    "an instance of a class that was defined anew": Situation(
        [
            LEGAL,
            "class P:\n    def v(self):\n        return 1\np = P()",
            "class P:\n    def v(self):\n        return 2",
            PLAYS.format("p.v()"),
        ],
        expected=r"my_agent holds a P made by In\[2\], and P means In\[3\]'s class now: run the cell that makes it again",
    ),
    "a function of exec": Situation(
        ["exec('def my_agent(obs, config):\\n    return 0')"], expected="made by exec, or typed"
    ),
    "async": Situation(["async def my_agent(obs, config):\n    return 0"], expected="my_agent is async"),
    "a generator": Situation(["def my_agent(obs, config):\n    yield 0"], expected="my_agent is a generator"),
    "an open file": Situation(
        ["import os\nbook = open(os.devnull)", "def my_agent(obs, config):\n    return len(book.read())"],
        expected="my_agent holds book is a .*TextIOWrapper",
    ),
    "a socket": Situation(
        ["import socket\nline = {'a': socket.socket()}", "def my_agent(obs, config):\n    return len(line)"],
        expected=r"line\['a'\] is a socket",
    ),
    "a generator that is held": Situation(
        ["moves = (n for n in range(42))", "def my_agent(obs, config):\n    return next(moves)"],
        expected="moves is a generator",
    ),
    "a frame with two columns of a name": Situation(
        [
            "import pandas as pd\nframe = pd.DataFrame([[1, 2]], columns=['a', 'a'])",
            "def my_agent(obs, config):\n    return len(frame)",
        ],
        expected="my_agent holds frame is a DataFrame .*as a dict or an array",
    ),
    "a class, not an instance": Situation(["class my_agent:\n    pass"], expected="my_agent is no function"),
    "three arguments": Situation(["def my_agent(obs, config, extra):\n    return 0"], expected="cannot be called with"),
    "of IPython": Situation(["def my_agent(obs, config):\n    display(obs)\n    return 0"], expected="without IPython"),
}

"""How people write agents in notebooks: pages whose built file plays as the notebook does, and pages that are refused.

The course's lessons are rebuilt in our own words.
"""

from typing import NamedTuple

from tests.builder.notebook.pages import FREE, HEAD


class Page(NamedTuple):
    """A notebook.

    agent: the function that is meant.
    named: whether it has to be named to build it.
    files: beside it.
    """

    cells: list
    agent: str = "my_agent"
    named: bool = False
    files: tuple[tuple[str, str], ...] = ()


def choosing(by: str) -> str:
    """An agent that plays the free column that comes first in some order."""
    return f"{HEAD}    return min({FREE}, key=lambda c: {by})"


MIDDLE = choosing("abs(c - 3)")
WRITING = """
import inspect
import os

def write_agent_to_file(function, file):
    with open(file, "a" if os.path.exists(file) else "w") as f:
        f.write(inspect.getsource(function))
        print(function, "written to", file)

write_agent_to_file(my_agent, "submission.py")
"""
LESSON_1 = [
    "from kaggle_environments import make, evaluate\n\nenv = make('connectx', debug=True)\nprint(list(env.agents))",
    "import random\nimport numpy as np",
    f"def agent_random(obs, config):\n    return random.choice({FREE})\n\n"
    "def agent_middle(obs, config):\n    return config.columns // 2\n\n"
    f"def agent_leftmost(obs, config):\n    return {FREE}[0]",
    "env.run([agent_random, agent_leftmost])",
    "def drop_piece(grid, col, piece, config):\n    next_grid = grid.copy()\n"
    "    for row in range(config.rows-1, -1, -1):\n        if next_grid[row][col] == 0:\n            break\n"
    "    next_grid[row][col] = piece\n    return next_grid\n\n"
    "def check_winning_move(obs, config, col, piece):\n"
    "    grid = np.asarray(obs.board).reshape(config.rows, config.columns)\n"
    "    next_grid = drop_piece(grid, col, piece, config)\n"
    "    for row in range(config.rows):\n        for c in range(config.columns-(config.inarow-1)):\n"
    "            if list(next_grid[row, c:c+config.inarow]).count(piece) == config.inarow:\n"
    "                return True\n    return False",
    f"{HEAD}    valid_moves = {FREE}\n    for col in valid_moves:\n"
    "        if check_winning_move(obs, config, col, obs.mark):\n            return col\n"
    "    return random.choice(valid_moves)",
    "q_2.check()",
    WRITING,
    "import sys\nfrom kaggle_environments import utils\n\nout = sys.stdout\nagent = my_agent\nsys.stdout = out",
]
LESSON_2 = [
    "from learntools.core import binder\nbinder.bind(globals())\nfrom learntools.game_ai.ex2 import *",
    "import numpy as np\nimport random",
    *LESSON_1[4:5],
    "A = 1e6\nB = 1\nC = -10",
    "def count_windows(grid, num_discs, piece, config):\n    count = 0\n    for row in range(config.rows):\n"
    "        for col in range(config.columns-(config.inarow-1)):\n"
    "            window = list(grid[row, col:col+config.inarow])\n"
    "            if window.count(piece) == num_discs and window.count(0) == config.inarow-num_discs:\n"
    "                count += 1\n    return count\n\n"
    "def score_move(grid, col, mark, config):\n    next_grid = drop_piece(grid, col, mark, config)\n"
    "    return A*count_windows(next_grid, 4, mark, config) + B*count_windows(next_grid, 3, mark, config)"
    " + C*count_windows(next_grid, 3, mark%2+1, config)",
    f"{HEAD}    valid_moves = {FREE}\n    grid = np.asarray(obs.board).reshape(config.rows, config.columns)\n"
    "    scores = dict(zip(valid_moves, [score_move(grid, col, obs.mark, config) for col in valid_moves]))\n"
    "    max_cols = [key for key in scores.keys() if scores[key] == max(scores.values())]\n"
    "    return random.choice(max_cols)",
    "def get_win_percentages(agent1, agent2, n_rounds=100):\n    return evaluate('connectx', [agent1, agent2], {})",
    "get_win_percentages(my_agent, 'random')",
]
LESSON_3 = [
    *LESSON_2[1:5],
    "N_STEPS = 2",
    "def minimax(node, depth, maximizing, mark, config):\n"
    "    valid_moves = [c for c in range(config.columns) if node[0][c] == 0]\n"
    "    if depth == 0 or not valid_moves:\n        return count_windows(node, 3, mark, config)\n"
    "    value = -np.Inf if maximizing else np.Inf\n    for col in valid_moves:\n"
    "        child = drop_piece(node, col, mark if maximizing else mark%2+1, config)\n"
    "        score = minimax(child, depth-1, not maximizing, mark, config)\n"
    "        value = max(value, score) if maximizing else min(value, score)\n    return value",
    f"{HEAD}    valid_moves = {FREE}\n    grid = np.asarray(obs.board).reshape(config.rows, config.columns)\n"
    "    scores = {c: minimax(drop_piece(grid, c, obs.mark, config), N_STEPS-1, False, obs.mark, config)"
    " for c in valid_moves}\n"
    "    return random.choice([c for c in scores if scores[c] == max(scores.values())])",
    WRITING,
]
LESSON_4 = [
    "!pip install 'stable-baselines3[extra]'",
    "import numpy as np\nfrom kaggle_environments import make\nfrom stable_baselines3 import PPO",
    "env = make('connectx').train([None, 'random'])\nmodel = PPO('CnnPolicy', env, verbose=0)",
    "model.learn(total_timesteps=60000)",
    f"{HEAD}    col, _ = model.predict(np.array(obs['board']).reshape(1, 6, 7))\n    return int(col)",
]
TOOLS = """
def fill(c):
    if callable(c):
        c(None, None)
    elif hasattr(c, "__setitem__"):
        c[0] = 5
    return c
"""

PLAYING: dict[str, Page] = {
    "an object that is called": Page(
        [
            "class Near:\n    def __init__(self, middle):\n        self.middle = middle\n"
            f"    def __call__(self, obs, config):\n        return min({FREE}, key=lambda c: abs(c - self.middle))",
            "def near(board):\n    return sum(board)",
            "bot = Near(2)",
        ],
        agent="bot",
    ),
    "import": Page(
        [
            "import numpy as np, IPython, os.path\nimport nbformat, os",
            choosing("np.abs(c - len(os.path.join('a', 'b')))"),
        ]
    ),
    "magics": Page(
        [
            "%precision 3\n!ls\nTEXT = '''\n%%a\n!b %d\n''' % 5\nfiles = !ls\nif True:\n    !echo {TEXT}\n    FIRST = 2",
            "pip --version",
            choosing("abs(c - FIRST) + len(TEXT)"),
        ]
    ),
    "helper defined four times": Page(
        [
            *(f"def near(c):\n    return abs(c - {n}) + undefined_{n}" for n in range(3)),
            "def near(c):\n    return abs(c - 5)",
            choosing("near(c)"),
        ]
    ),
    "another global called agent": Page(["agent = 'random'", "def describe(agent=agent):\n    return agent", MIDDLE]),
    "config at module level": Page(
        [
            "from kaggle_environments import make\nenv = make('connectx')\nconfiguration = env.configuration",
            "env.reset()",
            choosing("abs(c - configuration.columns // 2)"),
            "env.run([my_agent, 'random'])",
        ]
    ),
    "changed in place": Page(
        [
            "import numpy as np\nORDER, W = [0, 1, 2, 3, 4, 5, 6], np.array([0., 5, 1, 2, 9, 3, 4])",
            "other = ORDER",
            "other.reverse()\nORDER[0], ORDER[1] = 5, 6",
            "add = ORDER.insert\nnp.negative(W, out=W)\nfor n in range(2):\n    add(0, ORDER.pop())",
            choosing("ORDER.index(c) + W[c]"),
        ]
    ),
    "value of then, function of now": Page(
        [
            "N = 1",
            "def near(c):\n    return abs(c - N)",
            "AT_1 = [near(c) for c in range(7)]",
            "N = 6",
            choosing("(AT_1[c], near(c))"),
        ]
    ),
    "star import of one's own": Page(
        ["from tools import *", choosing("near(c)")],
        files=(("tools.py", "import math\n\nFIRST = 4\n\ndef near(c):\n    return abs(c - FIRST)\n"),),
    ),
    "np.Inf and friends": Page(
        [
            "import numpy as np\nfrom numpy import Inf",
            f"{HEAD}    best, score = np.int(0), -np.Inf\n    for c in {FREE}:\n"
            "        if score < -abs(c - np.float(2)) < Inf and np.bool(1):\n            best, score = c, -abs(c - 2)\n    return best",
        ]
    ),
    "lambda": Page([f"my_agent = lambda obs, config: max({FREE})"]),
    "other languages, and a syntax error elsewhere": Page(
        ["def broken(:\n    pass", "1 +", "%%bash\nls", "%%html\n<b>x</b>", "%%javascript\nalert(1)", MIDDLE]
    ),
    "read as of getsource": Page(
        [
            choosing("near(c)"),
            "def near(c):\n    return abs(c - 2)",
            WRITING + "\nTAKEN = 'my_agent'",
            "def near(c):\n    return -c",
            choosing("c"),
        ]
    ),
    "%%writefile": Page(
        [choosing("c").replace("my_agent", "other"), "%%writefile submission.py\n" + choosing("-c"), choosing("-c")]
    ),
    "%%writefile beside getsource": Page(
        ["%%writefile submission.py\n" + choosing("c"), choosing("-c"), WRITING], agent="my_agent"
    ),
    "indented cell": Page(["    FIRST = 4\n    SIGN = 1", choosing("abs(c - FIRST)")]),
    "try around an import": Page(
        [
            "try:\n    from nowhere_to_be_found import near\nexcept ImportError:\n    def near(c):\n        return abs(c - 6)",
            choosing("near(c)"),
        ]
    ),
    "%env": Page(["%env FIRST=5", "import os\nFIRST = int(os.environ.get('FIRST', 1))", choosing("abs(c - FIRST)")]),
    "the main module": Page(
        ["if __name__ == '__main__':\n    FIRST = 5\nelse:\n    FIRST = 1", choosing("abs(c - FIRST)")]
    ),
    "wrapped afterwards": Page(
        [
            "def counted(f):\n    def inner(obs, config):\n        inner.calls += 1\n        return f(obs, config)\n"
            "    inner.calls = 0\n    return inner",
            MIDDLE,
            "my_agent = counted(my_agent)",
        ]
    ),
    "attribute of the agent": Page([choosing("abs(c - my_agent.first)"), "my_agent.first = 5"]),
    "changed through what a call gives": Page(
        [
            "CONFIG = {'first': 0}\nclass Near:\n    by = 0\nnear = Near()\ndef get():\n    return CONFIG",
            "settings = get()\nsettings['first'] = 5\nget()['second'] = 1\nvars(near)['by'] = 1",
            choosing("abs(c - CONFIG['first'] - CONFIG['second'] + near.by)"),
        ]
    ),
    "an instance that plays, and was tried": Page(
        [
            "from kaggle_environments import make\nclass Agent:\n    calls = 0\n    def __call__(self, obs, config):\n"
            f"        self.calls += 1\n        return {FREE}[self.calls % len({FREE})]",
            "my_agent = Agent()",
            "env = make('connectx')\nenv.run([my_agent, 'random'])\nmy_agent = Agent()\n"
            "env.run([my_agent, 'random'])\nmy_agent.calls = 0",
        ],
        named=True,
    ),
    "a module that is written again after its import": Page(
        [
            "%%writefile tools.py\ndef near(c):\n    return abs(c - 5)",
            "import tools",
            "%%writefile tools.py\ndef near(c):\n    return c",
            choosing("tools.near(c)"),
        ]
    ),
    "a module that is written again and reloaded": Page(
        [
            "%%writefile tools.py\ndef near(c):\n    return c",
            "import tools, importlib",
            "%%writefile tools.py\ndef near(column):\n    return abs(column - 5)",
            "importlib.reload(tools)",
            choosing("tools.near(c)"),
        ]
    ),
    "source of a module": Page(
        [
            f"%%writefile bots.py\n{choosing('abs(c - 5)')}",
            "import bots, inspect\nopen('submission.py', 'w').write(inspect.getsource(bots))\nmy_agent = bots.my_agent",
        ]
    ),
    "an agent in a block": Page([f"if True:\n    def my_agent(obs, config):\n        return {FREE}[-1]"]),
    "an annotated lambda": Page([f"my_agent: object = lambda obs, config: {FREE}[-1]"]),
    "written in a loop": Page(
        [
            "def near(c):\n    return abs(c - 5)",
            choosing("near(c)"),
            "import inspect\nwith open('submission.py', 'w') as f:\n    for each in [near, my_agent]:\n"
            "        f.write(inspect.getsource(each))",
        ]
    ),
    "written by keywords": Page(
        [
            choosing("c").replace("my_agent", "first"),
            choosing("abs(c - 5)"),
            WRITING.replace('write_agent_to_file(my_agent, "', 'write_agent_to_file(function=my_agent, file="'),
        ]
    ),
    "source that is only shown": Page(
        [
            choosing("c").replace("my_agent", "first"),
            "%%writefile submission.py\n" + choosing("-c"),
            "from submission import my_agent\nimport inspect\nprint(inspect.getsource(first))",
        ]
    ),
    "lesson 1": Page(LESSON_1),
    "lesson 2": Page(LESSON_2),
    "lesson 3": Page(LESSON_3),
    "results of games": Page(
        [
            "from kaggle_environments import evaluate\nBEST = evaluate('connectx', ['random', 'negamax'])",
            choosing("BEST[0]"),
        ]
    ),
    "filled by what is not known": Page(
        [
            "from tools import fill\nclass Book:\n    def add(self, c):\n        self.n = fill(c)\nbook = Book()",
            "book.add(3)",
            choosing("book.n"),
        ],
        files=(("tools.py", TOOLS),),
    ),
    "bound by globals() in a function, by any name": Page(
        [
            "NEAR = 3\ndef setup(**names):\n    globals().update(names)",
            "def again():\n    setup(NEAR=5)",
            "again()",
            choosing("abs(c - NEAR)"),
        ]
    ),
    "found by their prefix": Page(
        [
            "def rule_a(c): return c * 2\ndef rule_b(c): return -abs(c - 3) * 3",
            choosing("-sum(f(c) for n, f in sorted(globals().items()) if n.startswith('rule_'))"),
        ]
    ),
    "changed by setattr": Page(
        [
            "import math\nclass Bot:\n    def near(self, c): return c",
            "setattr(Bot, 'near', lambda self, c: abs(c - 5))\nsetattr(math, 'tau', 2)",
            choosing("Bot().near(c) + math.tau * c * .2"),
        ]
    ),
    "bound by their dictionary": Page(
        [
            "locals()['SIDE'] = 2\nvars().update(EXTRA=-1, ORDER=[3, 2, 4, 1, 5, 0, 6])\nglobals()['BONUS'] = 3",
            choosing("EXTRA * abs(c - SIDE) + BONUS * ORDER.index(c) % 5"),
        ]
    ),
    "a module in a folder of sys.path": Page(
        ["import sys\nsys.path.append('bots')\nsys.path.insert(0, 'none')", "from mine import my_agent"],
        named=True,
        files=(
            ("bots/mine.py", f"from tools import near\n\n{choosing('near(c)')}\n"),
            ("bots/tools.py", "def near(c): return abs(c - 5)"),
        ),
    ),
    "match, walrus, exec and type()": Page(
        [
            "print(n := 5)\nif (m := n + 1) > 3:\n    match m:\n        case 6:\n            SHIFT = 4\n        case _:\n            SHIFT = 1",
            "Near = type('Near', (), {'of': lambda self, c: abs(c - SHIFT)})\nexec('''def extra(c):\n    return c * n % 3''')",
            choosing("Near().of(c) + extra(c)"),
        ],
    ),
    "a generator that is held, and a context": Page(
        [
            "import contextvars, itertools\ndepth = contextvars.ContextVar('depth', default=2)\ntoken = depth.set(5)",
            "def order():\n    n = 0\n    while True:\n        n += 3\n        yield n\nsteps = order()\nnext(steps)\nwheel = itertools.count(2)",
            f"{HEAD}    columns = {FREE}\n    return columns[(next(steps) + next(wheel) + depth.get()) % len(columns)]",
        ],
    ),
    "instances that their class keeps": Page(
        [
            "from dataclasses import dataclass, field\n@dataclass(slots=True)\nclass Cfg:\n    first: int = 2\n    order: list = field(default_factory=lambda: [1, 2])\nclass Bot:\n    made = []\n    def __init__(self, cfg):\n        self.cfg = cfg\n        type(self).made.append(self)\n    def near(self, c): return abs(c - self.cfg.first) + len(self.cfg.order) * c",
            "Bot(Cfg(5))\nBot(Cfg())\n[b.cfg.order.pop() for b in Bot.made]\nBot.made[0].cfg.first += 1",
            choosing("Bot.made[0].near(c) - Bot.made[1].near(c) * .5"),
        ],
    ),
    "drawn with a seed, and in play": Page(
        [
            "import numpy as np, random\nnp.random.seed(3)\nTABLE = np.random.rand(7)",
            "random.seed(1)\nORDER = list(range(7))",
            "random.shuffle(ORDER)",
            choosing("TABLE[c] + ORDER[c] + random.choice([0, 1, 2])"),
        ]
    ),
}

QLEARNING = "import random\nQ = {}\ndef train(n):\n    for k in range(n):\n        Q[k % 7] = random.random()"
AGAIN = "play otherwise in"
NET = "import torch\nmodel = torch.nn.Linear(42, 7)"
ASKING = f"{HEAD}    return int(model(torch.tensor(obs.board).float()).argmax())"
REFUSED: dict[str, tuple[list, str]] = {
    "lesson 4": (LESSON_4, "unknown package stable_baselines3"),
    "trained by a call": ([QLEARNING, "train(100)", choosing("Q[c]")], AGAIN),
    "first weights": ([NET, ASKING], AGAIN),
    "draws": (["import numpy as np\nTABLE = np.random.rand(7)", choosing("TABLE[c]")], AGAIN),
    "learnt in games": (
        [
            "import random\nQ = {}",
            "def learner(board, _):\n    Q[board.step % 7] = board.mark\n    return 3",
            "from kaggle_environments import make\nenv = make('connectx')\nenv.run([learner, 'random'])",
            choosing("Q.get(c, 0)"),
        ],
        AGAIN,
    ),
    "run from a file": (["%run tools.py", choosing("near(c)")], "if %run brought it, import it yourself"),
    "awaited": (
        ["import asyncio\nNEAR = await asyncio.sleep(0, 5)", choosing("abs(c - NEAR)")],
        "SyntaxError: 'await' outside function",
    ),
    "typed": (["N = int(input())", choosing("abs(c - N)")], "EOFError"),
    "of the shell": (
        ["FILES = !ls", choosing("len(FILES)")],
        "the output of a command is used, and Kaggle does not run it",
    ),
    "undefined": (
        ["def check_winning_move(c):\n    return c", choosing("check_winning_moves(c)")],
        "lesson.ipynb, cell 2, line 2: check_winning_moves is used, and no cell defines it: did you mean check_winning_move?",
    ),
    "only learntools has it": (
        ["from learntools.game_ai.ex1 import *", choosing("np.abs(c)")],
        "lesson.ipynb, cell 2, line 2: np is used, and no cell defines it; if learntools brought it",
    ),
    "syntax error in what it needs": (
        ["def near(c:\n    return c", choosing("near(c)")],
        "near is used, and no cell defines it: lesson.ipynb, cell 1, line 1, which may do so, has a syntax error",
    ),
    "in another language": (
        ["%%cython\ndef near(c):\n    return c", choosing("near(c)")],
        "near is used, and no cell defines it: lesson.ipynb, cell 1, line 2, which may do so, is a %%cython cell",
    ),
    "the notebook's own": ([f"{HEAD}    display(obs.board)\n    return 0"], "display is the notebook's own"),
    "used before": (
        ["TABLE = make()", "def make():\n    return [0] * 7", choosing("TABLE[c]")],
        "NameError: name 'make' is not defined",
    ),
    "the order of texts in a set": (
        ["ORDER = list({'left', 'mid', 'right', 'far', 'near', 'top', 'low'})", choosing("ORDER[c]")],
        AGAIN,
    ),
    "registered as a class is made": (
        [
            "H = []\nclass Heuristic:\n    def __init_subclass__(cls): H.append(cls())",
            "class Second(Heuristic):\n    def value(self, c): return -abs(c - 2)",
            choosing("-sum(h.value(c) for h in H)"),
        ],
        AGAIN,
    ),
    "bound by another way": (
        ["import __main__\n__main__.BONUS = 5", choosing("abs(c - BONUS)")],
        "lesson.ipynb, cell 2, line 2: BONUS is used, and no cell defines it",
    ),
    "filled by a lambda": (
        ["heap = []", "list(map(lambda c: heap.append(c), range(7)))", choosing("heap[c]")],
        "Not in the file: lesson.ipynb, cell 2, line 1: list(map(lambda",
    ),
    "registered for a class": (
        [
            "from functools import singledispatch\n@singledispatch\ndef score(x, c):\n    return 0",
            "@score.register\ndef _(x: int, c):\n    return abs(c - x)",
            choosing("score(5, c)"),
        ],
        "Not in the file: lesson.ipynb, cell 2, line 1: @score.register",
    ),
    "trained as it is shown": (
        ["Q = {}\ndef train(n):\n    Q.update({k: k * 5 % 7 for k in range(n)})", "print(train(7))", choosing("Q[c]")],
        "Not in the file: lesson.ipynb, cell 2, line 1: print(train(7))",
    ),
    "a parameter's name": (
        [MIDDLE.replace("obs.board", "cobs.board")],
        "cell 1, line 2: cobs is used, and no cell defines it: did you mean obs?",
    ),
    "changed as it is written": (
        [MIDDLE, WRITING.replace("(function)", "(function).replace('3', '5')")],
        "lesson.ipynb, cell 2 writes submission.py: run the page, then python build_submission.py --check submission.py; "
        "or build lesson.ipynb:my_agent",
    ),
    "filled in by the page": (
        [f"text = {MIDDLE!r}", "TO = '/kaggle/working/submission.py'", "with open(TO, 'w') as f:\n    f.write(text)"],
        "lesson.ipynb, cell 3 writes submission.py: run the page, then python build_submission.py --check submission.py",
    ),
    "added by the page": (
        [f"%%writefile submission.py\n{MIDDLE}", "def add(name):\n    open('submission.py', mode='a').write(name)"],
        "lesson.ipynb, cell 2 writes submission.py: run the page",
    ),
    "two agents": (
        [choosing("c"), choosing("-c").replace("my_agent", "other")],
        "which of its functions is the agent? my_agent (cell 1, line 1), other (cell 2, line 1): write lesson.ipynb:other",
    ),
    "no agent": (
        ["def near(c):\n    return c"],
        "lesson.ipynb has no function of (obs, config), which an agent should be: it defines near",
    ),
    "async": (["async " + MIDDLE], "my_agent must be a plain function (def)"),
    "a file that is no Python": (
        ["%%writefile submission.py\ndef my_agent(obs, config:\n    return 0"],
        "lesson.ipynb, cell 1, line 2: syntax error in submission.py",
    ),
    "a package that Kaggle lacks": (
        ["import package_of_nobody as p", choosing("p.near(c)")],
        "lesson.ipynb, cell 1, line 1: unknown package package_of_nobody",
    ),
}

"""Which callables are agents, and what is said to those that cannot be one: before any game, in one line."""

import ast
from functools import partial, wraps

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO

from connectx_toolkit.builder.notebook.page import from_page
from connectx_toolkit.builder.source.inline import inline
from connectx_toolkit.kaggle.agent_file import last_callable
from connectx_toolkit.kaggle.agent_function import (
    agent_arguments,
    agent_candidates,
    agent_in,
    meant_agent,
    suggest_agent,
)
from connectx_toolkit.players.spec import UnknownAgent
from connectx_toolkit.training.opponents import function_of_file
from evaluate import get_win_percentages
from tests.builder.notebook.pages import written

pytestmark = pytest.mark.slow


def agent(obs, config):
    return obs.board.index(0)


def decorated(function):
    @wraps(function)
    def wrapper(obs, config):
        return function(obs, config)

    return wrapper


class Instance:
    def __call__(self, obs, config):
        return obs.board.index(0)

    def play(self, obs, config):
        return obs.board.index(0)

    def see(self, obs):
        return obs.board.index(0)

    async def dream(self, obs, config):
        return 0


class AsyncInstance:
    async def __call__(self, obs, config):
        return 0


def three(obs, config, model):
    return obs.board.index(0)


async def asynchronous(obs, config):
    return 0


def generator(obs, config):
    yield 0


class TwoLines:
    def __repr__(self):
        return "a model\n" * 1000

    def predict(self, board):
        return 0


GOOD: dict = {
    "function": agent,
    "decorated": decorated(agent),
    "lambda": lambda obs, config: obs.board.index(0),
    "partial": partial(three, model=None),
    "instance": Instance(),
    "method": Instance().play,
    "one argument": lambda obs: obs.board.index(0),
    "with a default": lambda obs, config, depth=4: obs.board.index(0),
}
BAD: dict = {
    "class": (Instance, "Instance is a class, where an instance or a function was expected"),
    "three arguments": (three, "three cannot be called with (obs, config), as Kaggle does: missing a required"),
    "keyword only": (
        lambda obs, config, *, model: 0,
        "<lambda> cannot be called with (obs, config), as Kaggle does: missing a",
    ),
    "method of one argument": (Instance().see, "see cannot be called with (obs, config), as Kaggle does: too many"),
    "partial that has all": (partial(agent, 1, 2), "partial cannot be called with (obs, config)"),
    "async": (asynchronous, "asynchronous is async or a generator, where a plain function was expected"),
    "async method": (Instance().dream, "dream is async"),
    "async instance": (AsyncInstance(), "AsyncInstance is async"),
    "generator": (generator, "generator is async or a generator"),
    "network": (torch.nn.Linear(42, 7), "Linear is a network: wrap it in a function agent(obs, config)"),
    "model": (TwoLines(), "not a model a model a model"),
    "builtin": (len, "len cannot be called with (obs, config), as Kaggle does: too many positional arguments"),
    "array": (np.zeros(7), "an agent should be a name, a path or a callable, not array([0., 0."),
    "nothing": (None, "an agent should be a name, a path or a callable, not None"),
    "bytes": (b"agent.py", "not b'agent.py'"),
}


@pytest.mark.parametrize("name", GOOD)
def test_callables_that_play(name):
    assert get_win_percentages(GOOD[name], "random", 2).forfeits[0] == 0


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("seat", [0, 1])
def test_what_can_be_no_agent(name, seat):
    thing, words = BAD[name]
    players: list = [thing, "random"] if seat == 0 else ["random", thing]
    with pytest.raises(UnknownAgent) as problem:
        get_win_percentages(players[0], players[1], 2)
    line = str(problem.value)
    assert words in line and "\n" not in line and len(line) < 250


def test_a_model_itself():
    """Not what it is asked with, as in Kaggle's course."""

    class Still(gymnasium.Env):
        observation_space, action_space = gymnasium.spaces.Box(0, 2, (42,)), gymnasium.spaces.Discrete(7)

    model = PPO("MlpPolicy", Still(), device="cpu")
    things: list = [model, model.policy]
    for thing in things:
        with pytest.raises(UnknownAgent, match=r"wrap it in a function agent\(obs, config\) that returns a column"):
            get_win_percentages(thing, "random", 2)


SOURCES = {
    "agent": ("def agent(obs):\n    pass\n", "agent"),
    "agent and a helper": ("def agent(obs):\n    pass\ndef last(x):\n    pass\n", "agent"),
    "the last": ("def first(obs):\n    pass\nclass C:\n    pass\ndef play(obs):\n    pass\nX = 1\n", "play"),
    "bound again": ("def a(obs):\n    pass\ndef b(obs):\n    pass\ndef a(obs):\n    pass\n", "b"),
    "deleted": ("def a(obs):\n    pass\ndef b(obs):\n    pass\ndel b\n", "a"),
    "in a try": (
        "try:\n    import x\nexcept ImportError:\n    def b(o):\n        pass\nelse:\n    def c(o): ...\n",
        "c",
    ),
    "in a match": ("match 1:\n    case 1:\n        def m(obs):\n            pass\n", "m"),
    "never run": ("def a(obs):\n    pass\nif __name__ == '__main__':\n    def main():\n        pass\n", "a"),
    "a name": ("def helper(x):\n    pass\nagent = helper\n", "agent"),
    "nothing": ("X = 1\nfor i in ():\n    pass\n", ""),
}


@pytest.mark.parametrize("name", SOURCES)
def test_which_function_of_a_source_is_the_agent(name):
    source, expected = SOURCES[name]
    assert agent_in(ast.parse(source)) == expected


AGENT, OTHER = "def my_agent(obs, config):\n    return 3\n", "def other(obs, config):\n    return 3\n"
DOORS = {  # source: (the agent, all candidates of which a notebook asks, what Kaggle takes)
    "a helper below": ("def my_agent(state, config):\n    return 3\ndef helper(c):\n    return c\n",
                       "my_agent", ["my_agent"], "helper"),
    "a helper of the board below": ("def my_agent(observation, configuration):\n    return 3\n"
                                    "def score(obs, col):\n    return col\n", "my_agent", ["my_agent"], "score"),
    "a helper of both": ("def free(obs, config):\n    return [0]\n"
                         "def player(obs, config):\n    return free(obs, config)[-1]\n",
                         "player", ["player"], "player"),
    "a helper of a helper": ("def best(obs, config):\n    return 0\ndef near(board, c):\n    return best(board, c)\n"
                             "def player(obs, cfg):\n    return near(obs, cfg)\ndef far(a, b):\n    return 0\n",
                             "player", ["player"], "far"),
    "a helper by a class": ("def best(obs, config):\n    return 0\nclass Bot:\n    def act(self, obs):\n"
                            "        return best(obs, None)\ndef play(obs, config):\n    return Bot().act(obs)\n",
                            "play", ["play"], "play"),
    "one argument": (AGENT + "def legal(obs):\n    return [0]\n", "my_agent", ["my_agent"], "legal"),
    "agent": ("def agent(obs):\n    return 0\n" + OTHER, "agent", ["agent"], "other"),
    "the last": (AGENT + OTHER, "other", ["my_agent", "other"], "other"),
    "the one that plays": (AGENT + OTHER + "if __name__ == '__main__':\n    env.run([my_agent, 'random'])\n",
                           "my_agent", ["my_agent", "other"], "other"),
    "the one that is evaluated": (AGENT + OTHER + "def trial():\n    evaluate('connectx', agents=[my_agent, None])\n",
                                  "my_agent", ["my_agent", "other"], "trial"),
    "each calls the other": (AGENT.replace("3", "other(obs, config)") + OTHER.replace("3", "my_agent(obs, config)"),
                             "other", ["my_agent", "other"], "other"),
    "a lambda": ("my_agent = lambda obs, config: 3\ndef helper(c):\n    return c\n",
                 "my_agent", ["my_agent"], "helper"),
    "no names": ("def act(o, c):\n    return 0\n", "act", [], "act"),
    "no names below a helper": ("def legal(obs):\n    return [0]\ndef act(o, c):\n    return 0\n",
                                "act", ["legal"], "act"),
}  # fmt: skip


@pytest.mark.parametrize("name", DOORS)
def test_all_doors_take_the_same_function(name, tmp_path):
    """The builder of a .py, the pre-flight where Kaggle takes another one, and the builder of a notebook."""
    source, expected, among, taken = DOORS[name]
    path, tree = tmp_path / "mine.py", ast.parse(source)
    path.write_text(source)
    assert agent_in(tree) == expected
    assert inline(path).entry[1] == expected
    found = last_callable(str(path))
    assert found.agent.__name__ in (taken, "<lambda>")
    meant = meant_agent(tree, taken, fails=True)
    if isinstance(next((node for node in tree.body if getattr(node, "name", "") == expected), None), ast.FunctionDef):
        assert (meant.name if meant else taken) == expected
    assert agent_candidates(tree.body) == among
    if expected in among:
        assert suggest_agent(tree.body, among) == expected
    written(tmp_path / "mine.ipynb", [source])
    if len(among) == 1:
        (tmp_path / "files").mkdir()
        assert from_page(tmp_path / "mine.ipynb", None, tmp_path / "files").entry == among[0]
    elif among:
        with pytest.raises(ValueError, match=f"which of its functions is the agent.*: write mine.ipynb:{expected}$"):
            from_page(tmp_path / "mine.ipynb", None, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("obs, config", 2), ("observation, configuration", 2), ("obs, cfg", 2), ("obs, conf, depth=3", 2),
        ("obs", 1), ("state, config", 2), ("state", 0), ("state, depth", 0), ("obs, col", 0), ("", 0), ("*given", 0),
        ("obs, depth=3", 0), ("obs, config, depth", 0), ("obs, config, *, depth", 0),
        ("obs, config, *, depth=3", 2), ("board, config", 0),
    ],
)  # fmt: skip
def test_what_an_agent_takes(arguments, expected):
    (node,) = ast.parse(f"def play({arguments}):\n    pass\n").body
    assert isinstance(node, ast.FunctionDef) and agent_arguments(node) == expected


def test_one_file_is_one_agent(tmp_path):
    """For games, which load it as Kaggle does, and for learners, which refuse what would be another one."""
    path = tmp_path / "mine.py"
    path.write_text("import beside\ndef agent(obs, config):\n    return beside.COLUMN\n")
    (tmp_path / "beside.py").write_text("COLUMN = 4\n")
    assert function_of_file(path)(None, None) == last_callable(str(path)).agent(None, None) == 4
    path.write_text("def agent(obs, config):\n    return 4\ndef helper(x):\n    return 0\n")
    assert last_callable(str(path)).agent.__name__ == "helper"
    with pytest.raises(ValueError, match=r"mine.py: Kaggle will call helper \(line 3\), not agent"):
        function_of_file(path)

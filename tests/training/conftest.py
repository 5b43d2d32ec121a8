"""What tests of training share."""

import multiprocessing
import os
import sys
from subprocess import CompletedProcess
from types import SimpleNamespace
from typing import Any

import pytest

from connectx_toolkit.training import adopt, runs
from tests.training.in_place import pool_in_place


@pytest.fixture
def in_this_process(monkeypatch):
    """Work for a pool of processes is done in this one, which compiles only once."""
    monkeypatch.setattr(runs, "worker_pool", pool_in_place)


def _as_main(code: str, arguments: list[str], env: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    sys.argv = ["-c", *arguments]
    exec(code, {"__name__": "__main__"})


@pytest.fixture
def forked(monkeypatch):
    """The process that loads a user's model begins as a fork of this one, which has torch already: 2 s less of each.

    It is confined as it always is. What it says on stderr is not read.
    """

    def run(command: list[Any], env: dict[str, str], **_: Any) -> CompletedProcess:
        code, arguments = command[command.index("-c") + 1], command[command.index("-c") + 2 :]
        process = multiprocessing.get_context("fork").Process(target=_as_main, args=(code, arguments, env))
        process.start()
        process.join()
        return CompletedProcess(command, process.exitcode or 0, "", "")

    monkeypatch.setattr(adopt, "subprocess", SimpleNamespace(run=run))

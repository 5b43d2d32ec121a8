"""The board's server without a browser: who learns its address, and what it does with messages that no page sends."""

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from connectx_core.position import STANDARD, Position
from connectx_toolkit.board import server
from connectx_toolkit.board.server import LARGEST_MESSAGE, LARGEST_READ, listen, serve_board
from connectx_toolkit.board.session import Opening, position_entry
from connectx_toolkit.system.files import ROOT
from tests.conftest import needs, start_interruptible, wait_until

pytestmark = pytest.mark.slow
AS_ROOT = needs("root, to be another user", hasattr(os, "getuid") and os.getuid() == 0)
NOBODY = 65534
BROWSER_SCRIPT = """#!/bin/sh
cd "$(dirname "$0")"
echo "$1" > asked.tmp && mv asked.tmp asked
while [ ! -e done ]; do sleep 0.1; done
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may look into."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@AS_ROOT
def test_another_user_does_not_learn_the_address(open_folder):
    """Not from a command line, an environment, the file that standard output goes to, nor the temporary folder."""
    browser, log = open_folder / "browser", open_folder / "log"
    browser.write_text(BROWSER_SCRIPT)
    browser.chmod(0o755)
    environment = {**os.environ, "TMPDIR": str(open_folder), "DISPLAY": ":0", "BROWSER": f"{browser} %s &"}
    command = [sys.executable, str(ROOT / "evaluate.py"), "board"]
    with log.open("w") as output:
        log.chmod(0o644)
        process = start_interruptible(command, stdout=output, env=environment, cwd=open_folder)
    try:
        wait_until((open_folder / "asked").exists)
        redirect = Path((open_folder / "asked").read_text().strip().removeprefix("file://"))
        address = redirect.read_text().partition("url=")[2].partition('"')[0]
        port, token = int(address.split(":")[2].split("/")[0]), address.split("/")[3]
        assert len(token) == 32 and stat.S_IMODE(redirect.parent.stat().st_mode) == 0o700
        look = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ log; find . -type f -exec cat {} +"
        other = subprocess.Popen(
            ["sh", "-c", look], user=NOBODY, group=NOBODY, extra_groups=[], cwd=open_folder, stdout=subprocess.PIPE
        )
        seen = other.communicate()[0].decode(errors="replace")
        assert f"browser\0{redirect.as_uri()}" in seen and f"board: {redirect.as_uri()}\n" in seen
        assert token not in seen
        for path in ("", "socket", "board.html", "x" * 32):
            with socket.create_connection((server.HOST, port)) as line:
                line.sendall(f"GET /{path} HTTP/1.0\r\nHost: {server.HOST}:{port}\r\n\r\n".encode())
                answer = line.makefile("rb").read().decode()
            assert answer.startswith("HTTP/1.0 404") and token not in answer
    finally:
        (open_folder / "done").touch()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
    assert not redirect.parent.exists()


def test_the_token_is_new_for_each_run(monkeypatch):
    """The port is the usual one where it is free: an old page would tell its token to whoever listens there."""
    with socket.create_server((server.HOST, 0)) as free:
        monkeypatch.setattr(server, "USUAL_PORT", free.getsockname()[1])
    first, again = listen(), listen()
    for sock, _ in (first, again):
        sock.close()
    later, address = listen()
    later.close()
    assert first[1].port == address.port == server.USUAL_PORT != again[1].port
    assert len({first[1].token, again[1].token, address.token}) == 3


@pytest.mark.parametrize(("mode", "is_open"), [(0o600, False), (0o640, True), (0o604, True)], ids=oct)
def test_a_file_that_others_read_gets_no_address(tmp_path, monkeypatch, mode, is_open):
    with (tmp_path / "log").open("w") as output:
        os.chmod(output.name, mode)
        monkeypatch.setattr(sys, "stdout", output)
        assert server._others_read_output() == is_open


# Messages that no page sends

START = position_entry(Position.empty(STANDARD))
MOVE = {"type": "ask", "id": 7, "game": 1, "seat": 1, "agent": "leftmost", "position": START, "overage": 60}
NUMBERS: list[Any] = [None, 1.5, True, "1", [1], {"a": 1}, float("nan"), float("-inf"), 10**400]
POSITIONS: list[Any] = [
    None, 3, "0" * 42, [START], {}, {**START, "rows": 0}, {**START, "rows": 10**30}, {**START, "columns": float("nan")},
    {**START, "cells": None}, {**START, "cells": "0" * 41}, {**START, "cells": "3" * 42}, {**START, "cells": "1" * 42},
    {**START, "cells": "1" + "0" * 41}, {**START, "cells": [0] * 42}, {**START, "inarow": "4"},
    {**START, "cells": "\ud800" * 42},
]  # fmt: skip
AGENTS: list[Any] = [
    None, 3, ["leftmost"], {}, "", "nobody", "../../evaluate", "/etc/no_such.py", "no\0such.py", "x" * 100_000,
    "perfect~101", "minimax@-1", "https://example.org/a.py", "\ud800.py", "a/" * 3000, "leftmost ; rm", "%s%s",
    "<script>", ".", "/",
]  # fmt: skip
GAMES: list[Any] = [
    None, 3.5, {}, "3333333", "9", "-1", "\0", "[]", "{}", "[[[[", "{" * 50_000, '"' * 1000, "<html>", "1" * 5000,
    "NaN", '{"steps": []}', '{"steps": [[1, 2]], "configuration": {"rows": 1e999}}', "\u2028x", "3,4,,5", "0x10",
    "3" * 100_000, "9" * 42,
]  # fmt: skip
HOSTILE: list[str | bytes] = [
    "", " ", "{", "]", "nul", "NaN", "Infinity", "1e999", "9" * 5000, "[" * 100_000, '{"a":' * 100_000, "\0", "{}",
    "[]", "null", "3", '"ask"', '[{"type": "hello"}]', b"\xff\xfe\xfd", b"\0" * 1000, b"{", " " * (LARGEST_MESSAGE + 1),
    *(json.dumps({"type": value}) for value in (*NUMBERS, "", "HELLO", "__init__", "close", "x" * 10_000)),
    *(json.dumps({"type": name}) for name in ("solve", "ask", "check", "read", "explore")),
    *(json.dumps({**MOVE, name: value}) for name in ("id", "game", "seat") for value in NUMBERS),
    *(json.dumps({**MOVE, "overage": value}) for value in NUMBERS if value != 1.5),
    *(json.dumps({**MOVE, "position": value}) for value in POSITIONS),
    *(json.dumps({**MOVE, "config": value}) for value in ([3], "x", 7, {"actTimeout": "2"}, {"overage": -1})),
    *(json.dumps({"type": "solve", "positions": [START, value]}) for value in POSITIONS),
    *(json.dumps({"type": "solve", "positions": value}) for value in (None, 3, {"a": 1}, "cells")),
    *(json.dumps({"type": "explore", "position": value}) for value in [START, *POSITIONS]),  # there is no file of games
    *(json.dumps({"type": "check", "seat": 0, "agent": value}) for value in AGENTS),
    *(json.dumps({"type": "check", "seat": value, "agent": "leftmost"}) for value in NUMBERS),
    *(json.dumps({**MOVE, "agent": value}) for value in AGENTS),
    *(json.dumps({"type": "read", **START, "text": value}) for value in GAMES),
]  # fmt: skip


def test_hostile_messages_are_answered():
    """Each by a problem; then an agent moves as ever. One beyond all bounds ends its own socket, and no other."""

    async def attack() -> None:
        sock, address = listen()
        serving = asyncio.create_task(serve_board(sock, address, Opening()))
        socket_url = f"{address.url.replace('http', 'ws')}socket"
        async with aiohttp.ClientSession() as client, client.ws_connect(socket_url, max_msg_size=0) as line:
            for message in HOSTILE:
                await (line.send_str(message) if isinstance(message, str) else line.send_bytes(message))
                answer = await line.receive_json(timeout=20)
                assert answer["type"] == "problem" and len(answer["text"]) <= 1100, (message[:200], answer)
            async with client.ws_connect(socket_url) as other:
                with suppress(ConnectionError):  # it is closed while this is sent
                    await other.send_str(" " * (LARGEST_READ + 1))
                await other.receive(timeout=20)
                assert other.closed
            await line.send_json(MOVE)
            types = [(await line.receive_json(timeout=20))["type"] for _ in range(3)]
            assert types == ["loading", "thinking", "move"]
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving

    assert len(HOSTILE) >= 200
    asyncio.run(attack())

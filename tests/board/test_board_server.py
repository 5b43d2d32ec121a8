"""The board's server without a browser: who learns its address, and what it does with messages that nobody should send."""

import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectx_toolkit.board import server
from connectx_toolkit.board.server import listen
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
        seen = subprocess.run(
            ["sh", "-c", look], user=NOBODY, group=NOBODY, extra_groups=[], cwd=open_folder, capture_output=True
        ).stdout.decode(errors="replace")
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

"""``evaluate.py board``: the board as a page of this machine's own, for this user alone.

It listens on 127.0.0.1. Every address begins with a token, so that no other user's and no other page's request is
answered; requests that another page has made the browser send are refused by their origin and by their host.

The token is new for each run. A page that is still open asks for its old address again and again, and tells it to
whoever has the port by then. The token stands nowhere that other users may read: the browser's command line names a
page in a folder of this user's alone, which leads to the address and goes with the run.
"""

import asyncio
import json
import os
import secrets
import socket
import stat
import sys
import tempfile
import webbrowser
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from aiohttp import WSMsgType, web

from connectx_toolkit.board.session import Opening, Session
from connectx_toolkit.board.thinking import Analyst
from connectx_toolkit.kaggle import archive
from connectx_toolkit.page import PAGE_FOLDER
from connectx_toolkit.system.posix import is_own

HOST = "127.0.0.1"
USUAL_PORT = 6744  # so that a tunnel is good for the next run, too
BOARD_PAGE = "board.html"
LARGEST_MESSAGE = 16 * 2**20  # characters of a message, as page/board.js has it: a replay has 10 to 60 kB
LARGEST_READ = 4 * LARGEST_MESSAGE  # bytes: what is larger is not read to its end, and its socket is closed
OPEN_SOCKETS = web.AppKey("open_sockets", set[web.WebSocketResponse])  # the sockets of the boards that are open
SECURITY = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self' ws://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class Address(NamedTuple):
    """Where the server is found."""

    port: int
    token: str

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/{self.token}/"


def application(address: Address, opening: Opening, analyst: Analyst) -> web.Application:
    """The board's server: its page below the token, and a socket for each board that is open."""
    app = web.Application(middlewares=[_guard(address)])
    app[OPEN_SOCKETS] = set()

    async def page(request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"] or BOARD_PAGE
        if name not in {path.name for path in PAGE_FOLDER.iterdir()}:
            raise web.HTTPNotFound
        return web.FileResponse(PAGE_FOLDER / name)

    async def converse(request: web.Request) -> web.WebSocketResponse:
        return await _converse(request, opening, analyst)

    app.router.add_get(f"/{address.token}/socket", converse)
    app.router.add_get(f"/{address.token}/{{name:[a-z_.]*}}", page)
    app.on_shutdown.append(_close_all)
    return app


def _guard(address: Address):
    """Refuses what does not come from our own page, and gives every answer its security headers."""
    hosts = {f"{name}:{address.port}" for name in (HOST, "localhost")}

    @web.middleware
    async def guard(request: web.Request, handler: Callable[[web.Request], Awaitable]) -> web.StreamResponse:
        origin = request.headers.get("Origin")
        if request.host not in hosts or (origin is not None and origin.removeprefix("http://") not in hosts):
            raise web.HTTPForbidden(text="requests from other pages are refused")
        return await handler(request)

    return guard


async def _add_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update({name: value.format(host=request.host) for name, value in SECURITY.items()})


async def _close_all(app: web.Application) -> None:
    for line in [*app[OPEN_SOCKETS]]:
        await line.close(code=1001)


async def _converse(request: web.Request, opening: Opening, analyst: Analyst) -> web.WebSocketResponse:
    """One board, as long as its page is open."""
    line = web.WebSocketResponse(max_msg_size=LARGEST_READ, heartbeat=30.0)
    await line.prepare(request)
    loop, outgoing = asyncio.get_running_loop(), asyncio.Queue[dict]()

    def send(message: dict) -> None:
        with suppress(RuntimeError):  # the loop has ended, and an agent's last words come too late
            loop.call_soon_threadsafe(outgoing.put_nowait, message)

    async def deliver() -> None:
        while True:
            await line.send_str(_encode_message(await outgoing.get()))

    session, sender = Session(send, analyst, opening), asyncio.create_task(deliver())
    request.app[OPEN_SOCKETS].add(line)
    try:
        async for message in line:
            if message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                await loop.run_in_executor(None, _receive, session, message.data, send)
    finally:
        request.app[OPEN_SOCKETS].discard(line)
        sender.cancel()
        session.close()
    return line


def _receive(session: Session, text: str | bytes, send: Callable[[dict], None]) -> None:
    try:
        if len(text) > LARGEST_MESSAGE:
            raise ValueError(f"a message has at most {LARGEST_MESSAGE >> 20} MiB")
        message = json.loads(text)
    except (ValueError, RecursionError) as problem:
        send({"type": "problem", "text": f"cannot read a message: {problem}"})
        return
    session.receive(message)


def _encode_message(message: dict) -> str:
    """A message as browsers parse it: they know neither NaN nor infinity, and would lose all of it."""
    try:
        return json.dumps(message, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as problem:
        about = {"about": message.get("type"), "id": message.get("id")}  # ours, and checked
        return json.dumps({"type": "problem", **about, "text": f"cannot send an answer: {problem}"})


def listen() -> tuple[socket.socket, Address]:
    """A socket that listens at the usual port, or where that is taken at a free one; and its address.

    Raises OSError: no port is free.
    """
    for port in (USUAL_PORT, 0):
        with suppress(OSError):
            sock = socket.create_server((HOST, port))
            return sock, Address(sock.getsockname()[1], secrets.token_urlsafe(24))
    raise OSError(f"no free port on {HOST}")


async def serve_board(sock: socket.socket, address: Address, opening: Opening) -> None:
    """Serves until it is cancelled."""
    app = application(address, opening, Analyst())
    app.on_response_prepare.append(_add_headers)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.SockSite(runner, sock).start()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def may_open_browser() -> bool:
    """Whether there is a screen that a browser could show the page on."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def write_redirect(address: Address, folder: Path) -> str:
    """Writes a page that leads to the board. Its own address: every user sees a browser's command line.

    Args:
        folder: of this user's alone.
    """
    page = folder / "board.html"
    page.write_text(f'<meta http-equiv="refresh" content="0; url={address.url}">', encoding="utf-8")
    return page.as_uri()


def _others_read_output() -> bool:
    """Whether standard output is a file that other users may read."""
    with suppress(AttributeError, OSError):  # there is none, or a notebook's
        status = os.fstat(sys.stdout.fileno())
        return stat.S_ISREG(status.st_mode) and not is_own(status, 0o044)
    return False


def run_board(opening: Opening, browser: bool) -> None:
    """Serves the board until Ctrl-C, and then returns."""
    sock, address = listen()
    with (
        archive.share_archives(),
        tempfile.TemporaryDirectory(prefix="connectx-board-") as folder,
        suppress(KeyboardInterrupt),
    ):
        redirect = write_redirect(address, Path(folder))
        print(f"board: {redirect if _others_read_output() else address.url}\nPress Ctrl-C to stop it.", flush=True)
        if browser and may_open_browser():
            webbrowser.open(redirect)
        asyncio.run(serve_board(sock, address, opening))

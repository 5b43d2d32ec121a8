"""The messages between the referee's side and the agent's process, over a socket pair.

Each request gets exactly one reply. Both begin with their own length in bytes:

    request   "<IcIBd"  length; b"G", b"L", b"M" or b"T"; ply; mark; overage in seconds. Then for G (a game begins) its
                        configuration and seed as JSON, for L (load the agent) a seed as JSON, for M (move) the cells
                        of the board, one byte each, in Kaggle's order, for T (tell your thoughts) nothing
    reply     "<Idq"    length; seconds that the agent took; column. Then, unless the agent returned an int, JSON: what
                        it returned instead, or what went wrong

Times are measured in the agent's process, by ``time.perf_counter`` around the call only: the 13 us of transport are not
charged to the agent.

Before the first request a process that does not know its agent is told, after the number of bytes ("<I"), as JSON: the
folders of ``sys.path``, the spec, and whether that is the main.py of an archive (``connectx_toolkit.kaggle.archive``).

Orders to the process that agents' processes are forked from have a socket pair of their own: ``ORDER`` with the
descriptor of an agent's socket forks one, without one it asks how a process ended. It is answered by an ``ORDER``.
Where one is forked, the order's second number is that of the bytes that follow: what to prepare before, as JSON
(``connectx_toolkit.kaggle.preload``).
"""

import json
import socket
import struct
from typing import Any, NamedTuple

from connectx_toolkit.kaggle.raised import Raised

REQUEST = struct.Struct("<IcIBd")
REPLY = struct.Struct("<Idq")
LENGTH = struct.Struct("<I")
ORDER = struct.Struct("<qq")  # a process's id, and the options or the status of os.waitpid; see above


class Opaque(NamedTuple):
    """Stands for a returned object that is neither int, float nor None: Kaggle's schema refuses all of these."""

    type_name: str
    text: str


class Reply(NamedTuple):
    """What an agent did when asked for a move."""

    action: Any  # int, float, None or Opaque; meaningless if there is a fault
    seconds: float
    fault: str | None = None  # "exception", "load", "exit", "crash" or "hang"; the referee finds illegal moves
    detail: str = ""
    raised: Raised | None = None  # the exception
    load: float = 0.0  # the part of the seconds that was the load
    charged: float = 0.0  # the part of the seconds that passed before: in the load of a persistent agent, or prepared
    imported: tuple[str, ...] = ()  # packages of preload.HEAVY that the agent has imported since the last reply
    source: tuple[str, str] | None = None  # of a loaded file: where its process finds it, and the entry of ``Parsed``


def receive(sock: socket.socket) -> bytes:
    """One message; empty at the end of the stream."""
    message = sock.recv(65536)
    if len(message) >= LENGTH.size:
        (length,) = LENGTH.unpack_from(message)
        while len(message) < length:
            part = sock.recv(65536)
            if not part:
                return b""
            message += part
    return message


def pack_request(kind: bytes, body: bytes, ply: int = 0, mark: int = 0, overage: float = 0.0) -> bytes:
    return REQUEST.pack(REQUEST.size + len(body), kind, ply, mark, overage) + body


def pack_reply(seconds: float, column: int, extra: dict[str, Any] | None) -> bytes:
    text = b"" if extra is None else json.dumps(extra).encode()
    return REPLY.pack(REPLY.size + len(text), seconds, column) + text


def unpack_reply(message: bytes) -> Reply:
    """The reply in a complete message."""
    _, seconds, column = REPLY.unpack_from(message)
    return reply_of(seconds, column, json.loads(message[REPLY.size :]) if len(message) > REPLY.size else None)


def reply_of(seconds: float, column: int, extra: dict[str, Any] | None) -> Reply:
    """The reply, from the seconds, the column, and the details that ``HostedAgent`` gives."""
    if extra is None:
        return Reply(column, seconds)
    reply, source = _reply_with_details(seconds, column, extra), extra.get("source")
    imported = tuple(extra.get("imported", ()))
    return reply._replace(charged=extra.get("charged", 0.0), imported=imported, source=source and tuple(source))


def _reply_with_details(seconds: float, column: int, extra: dict[str, Any]) -> Reply:
    if "fault" in extra:
        told = extra.get("raised")
        return Reply(None, seconds, extra["fault"], extra["detail"], told and Raised(*told))
    if "warning" in extra:
        return Reply(column, seconds, detail=extra["warning"])
    return Reply(Opaque(extra["opaque"], extra["text"]) if "opaque" in extra else extra["value"], seconds)

"""Asks for a Spark Connect server that is started only when it is needed, and keeps it while this process uses it.

``WEIR_SPARK_SOCKET`` names a Unix socket of whoever starts the server (``webapp/supervisor/spark_demand.py``). A client connects and
sends a line: ``start`` to have it started, ``look`` to ask whether it runs. The answer is one line of JSON: ``{"remote": …, "token": …}``,
``{"error": …}``, or ``{}`` where it does not run and was not asked for. The server is kept for as long as the connection of a ``start``
stays open, which is until this process ends, whatever ends it.
"""

import json
import os
import socket

from ingest.errors import Refused

VARIABLE = "WEIR_SPARK_SOCKET"
STARTS_WITHIN_S = 600
"""Longer than the one who starts it waits itself."""
ANSWER_BYTES = 4096

_held: list[socket.socket] = []


def ensure() -> None:
    """Waits until the server serves, and sets ``SPARK_REMOTE`` and its token. Raises :class:`ingest.errors.Refused`."""
    if os.environ.get(VARIABLE) and not _held:
        _held.append(_take("start"))


def runs() -> bool:
    """Whether there is a server that may have work of an earlier process; starts none. True where it is nobody's to start."""
    if not os.environ.get(VARIABLE) or _held:
        return True
    before = os.environ.get("SPARK_REMOTE")
    _take("look").close()
    return os.environ.get("SPARK_REMOTE") != before


def _take(word: str) -> socket.socket:
    path = os.environ[VARIABLE]
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(STARTS_WITHIN_S)
        connection.connect(path)
        connection.sendall(word.encode() + b"\n")
        data = b""
        while not data.endswith(b"\n"):
            if not (more := connection.recv(ANSWER_BYTES)):
                raise Refused(f"Who starts Spark at {path} ended before it answered; try again once Weir runs.")
            data += more
    except OSError as error:
        connection.close()
        raise Refused(f"Nobody who starts Spark answers at {path} ({error}); start Weir, or unset {VARIABLE} and SPARK_REMOTE.") from error
    except Refused:
        connection.close()
        raise
    answer = json.loads(data)
    if "error" in answer:
        connection.close()
        raise Refused(f"Spark was not started: {answer['error']}")
    if answer:
        os.environ["SPARK_REMOTE"], os.environ["SPARK_CONNECT_AUTHENTICATE_TOKEN"] = answer["remote"], answer["token"]
    return connection

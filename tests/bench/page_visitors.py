"""People who open pages one after the other for some minutes, each signed in, over a web server as
`make run` starts it.
"""

import http.client
import os
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from tests.programs import Running, start
from webapp.launch.home import Home, free_port, listens

COOKIE = "weir_session"
READS_S = (0.5, 2.5)
"""How long somebody looks at a page before the next one."""
ANSWER_WITHIN_S, STARTS_WITHIN_S = 30, 120


@dataclass
class Visits:
    """``errors``: page → what went wrong, each time."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def p95_ms(self) -> float:
        return sorted(self.seconds)[int(len(self.seconds) * 0.95)] * 1000


@contextmanager
def serving(folder: Path, **variables: str) -> Iterator[int]:
    """The web server with its Redis, as `make run` starts both; yields the port."""
    home, port = Home(folder), free_port()
    home.folder("static")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
    environment = {**kept, "WEIR_BIND": f"127.0.0.1:{port}", **variables}
    children: list[Running] = []
    try:
        children += (start(name, home, environment) for name in ("redis", "web"))
        give_up = time.monotonic() + STARTS_WITHIN_S
        while not listens("127.0.0.1", port):
            if time.monotonic() > give_up:
                raise TimeoutError(
                    f"The web server did not listen within {STARTS_WITHIN_S} s; see "
                    f"{home.root}/logs."
                )
            time.sleep(0.2)
        yield port
    finally:
        for child in reversed(children):
            child.stop()


def visit(
    port: int,
    sessions: Sequence[str],
    paths: Mapping[str, Sequence[tuple[str, Mapping[str, str]]]],
    seconds: float,
) -> Visits:
    """Everybody at once; which page comes next is drawn, every page as often as the next one,
    however many filters it has.
    """
    found, until = Visits(), time.monotonic() + seconds
    people = [
        threading.Thread(
            target=_read_pages, args=(port, session, paths, random.Random(number), until, found)
        )
        for number, session in enumerate(sessions)
    ]
    for one in people:
        one.start()
    for one in people:
        one.join()
    return found


def _read_pages(
    port: int,
    session: str,
    paths: Mapping[str, Sequence[tuple[str, Mapping[str, str]]]],
    draw: random.Random,
    until: float,
    found: Visits,
) -> None:
    while time.monotonic() < until:
        path, parameters = draw.choice(paths[draw.choice(list(paths))])
        address = f"{path}?{urlencode(parameters)}" if parameters else path
        started = time.monotonic()
        if error := _error_of(port, address, session):
            found.errors.append(f"{address}: {error}")
        found.seconds.append(time.monotonic() - started)
        time.sleep(draw.uniform(*READS_S))


def _error_of(port: int, address: str, session: str) -> str:
    """Empty where the whole page came, and not the one that asks to sign in."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_WITHIN_S)
    try:
        connection.request(
            "GET", address, headers={"Cookie": f"{COOKIE}={session}", "Accept": "text/html"}
        )
        answer = connection.getresponse()
        text = answer.read()
        return "" if answer.status == 200 and text else f"status {answer.status}, {len(text)} bytes"
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()

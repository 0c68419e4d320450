"""A whole Weir, started as a person starts it, and looked at from outside."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from webapp.config.environment import PROJECT_DIR
from webapp.launch.home import free_port

UP_WITHIN_S = 300
SPARK_HEAP = "1g"


ASK_AGAIN_S = 5
"""Where every answer takes a process of its own: asked without a rest, they would take a core from
what is waited for.
"""


def until(condition: Callable[[], Any], within_s: float, what: str, every_s: float = 0.1) -> Any:
    """The first true answer of ``condition``; fails naming ``what`` was waited for."""
    deadline = time.monotonic() + within_s
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen within {within_s:.0f} s"
        time.sleep(every_s)
    return answer


class RunningWeir:
    """``python -m webapp.launch`` on a home and a port of its own."""

    def __init__(self, home: Path, **variables: str) -> None:
        self.home, self.bind = home, f"127.0.0.1:{free_port()}"
        self.lines: list[str] = []
        unset = ("WEIR_", "SPARK_", "DJANGO_SETTINGS_MODULE")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
        self.variables = {
            **clean,
            "WEIR_HOME": str(home),
            "WEIR_BIND": self.bind,
            "WEIR_SPARK_HEAP": SPARK_HEAP,
            **variables,
        }
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "webapp.launch"],
            env=self.variables,
            cwd=PROJECT_DIR,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def wait_for_line(self, pattern: str, within_s: float = UP_WITHIN_S) -> re.Match[str]:
        def find() -> re.Match[str] | None:
            found = re.search(pattern, self.output)
            assert found or self.process.poll() is None, f"Weir ended:\n{self.output}"
            return found

        found: re.Match[str] = until(find, within_s, f"the line {pattern!r}")
        return found

    def wait_up(self, within_s: float = UP_WITHIN_S) -> float:
        """Wait until it says that it runs; returns the seconds since its start."""
        self.wait_for_line("Weir runs", within_s)
        return time.monotonic() - self.started

    def printed_sign_in(self) -> tuple[str, str]:
        """User and password, as it prints them when it starts."""
        found = self.wait_for_line(r"Sign in as (\S+) with password (\S+)")
        return found[1], found[2]

    def interrupt(self) -> int:
        """Ctrl-C; returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)

    def processes(self) -> dict[int, str]:
        """Command line and (name) of every living process of this home: by its environment, or by a
        path of the home in its arguments.
        """
        found: dict[int, str] = {}
        wanted = f"WEIR_HOME={self.home}".encode()
        for entry in Path("/proc").iterdir():
            try:
                if not entry.name.isdigit() or int(entry.name) == os.getpid():
                    continue
                command = (entry / "cmdline").read_bytes().replace(
                    b"\0", b" "
                ).decode() + f"({(entry / 'comm').read_text().strip()})"
                if f"{self.home}/" in command or wanted in (entry / "environ").read_bytes().split(
                    b"\0"
                ):
                    found[int(entry.name)] = command
            except OSError:
                continue
        return found

    def use_its_spark(self) -> None:
        """From now on commands run Spark jobs where its own workers do, instead of starting a Spark
        each.
        """
        worker = self.pid_of("-Q spark")
        assert worker, self.output
        told = dict(
            pair.partition("=")[::2]
            for pair in Path(f"/proc/{worker}/environ").read_text().split("\0")
        )
        self.variables |= {
            name: value
            for name, value in told.items()
            if name.startswith(("SPARK_", "WEIR_SPARK_"))
        }

    def pid_of(self, words: str) -> int | None:
        """The oldest process whose command line holds these words."""
        return min(
            (pid for pid, command in self.processes().items() if words in command), default=None
        )

    def page(self, path: str, form: dict[str, str] | None = None) -> tuple[int, str, str]:
        """Status, final address and text."""
        data = urlencode(form).encode() if form else None
        headers = {"Referer": f"http://{self.bind}{path}"}
        try:
            with self._opener.open(
                urllib.request.Request(f"http://{self.bind}{path}", data, headers), timeout=60
            ) as answer:
                return answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.url or "", error.read().decode(errors="replace")

    def sign_in(self, user: str, password: str) -> bool:
        """Through the form, as a browser does; whether it let us in."""
        _status, address, text = self.page("/")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', text)
        assert token, text[:500]
        path = address.removeprefix(f"http://{self.bind}")
        _status, address, _text = self.page(
            path, {"username": user, "password": password, "csrfmiddlewaretoken": token[1]}
        )
        return "sign-in" not in address

    def api(self, path: str) -> Any:
        status, _address, text = self.page(path)
        assert status == 200, f"{path}: {status} {text[:300]}"
        return json.loads(text)

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command,
            env=self.variables,
            cwd=PROJECT_DIR,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def add_endpoint(self, url: str) -> None:
        """One that takes every alert of a warning and worse."""
        files = self.home.parent / f"{self.home.name}-files"
        files.mkdir(exist_ok=True)
        (files / "endpoints.yaml").write_text("endpoints: [{name: pager, url: {env: PAGER}}]")
        self.variables["PAGER"] = url
        done = self.manage("apply", str(files))
        assert done.returncode == 0, done.stdout + done.stderr

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the SQLite database answers."""
        with sqlite3.connect(
            f"file:{self.home}/weir.sqlite3?mode=ro", uri=True, timeout=30
        ) as connection:
            return connection.execute(query).fetchall()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(line.rstrip("\n"))

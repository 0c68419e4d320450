"""Programs of ``make run`` one by one, as its list declares them."""

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from configparser import RawConfigParser
from contextlib import suppress
from pathlib import Path

from ingest.parent_death import leashed
from webapp.config.environment import PROJECT_DIR, Environment
from webapp.launch import variables
from webapp.launch.home import Home

LIST = PROJECT_DIR / "webapp" / "launch" / "programs.conf"


class Running:
    """A process that ends with the tests; what it says stands in its log."""

    def __init__(
        self, name: str, command: Sequence[str], environment: Mapping[str, str], logs: Path
    ) -> None:
        self.log_path = logs / f"{name}.log"
        logs.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                leashed(command),
                env=dict(environment),
                cwd=PROJECT_DIR,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def ask_to_stop(self) -> None:
        self.process.terminate()

    def stop(self, within_s: float = 8) -> None:
        self.ask_to_stop()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(within_s)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()


def declared() -> RawConfigParser:
    parser = RawConfigParser(inline_comment_prefixes=(";",), interpolation=None)
    parser.read(LIST)
    return parser


def start(name: str, home: Home, environment: Mapping[str, str]) -> Running:
    """A program of the list. ``environment`` as a person would give it to ``make run``."""
    given = {**environment, "WEIR_HOME": str(home.root)}
    told = variables.program_variables(Environment(), home, given) | {
        "WEIR_LEASH": "",
        "WEIR_BIND": given.get("WEIR_BIND", "127.0.0.1:0"),
    }
    told |= {variable: given[variable] for variable in ("SPARK_REMOTE",) if variable in given}
    expansions = {f"ENV_{variable}": value for variable, value in told.items()} | {
        "program_name": name
    }
    command = shlex.split(declared().get(f"program:{name}", "command") % expansions)
    return Running(name, command, told, home.folder("logs"))

"""``python -m webapp.launch``: runs all of Weir on this machine until Ctrl-C. supervisord runs the
programs of ``programs.conf``. Exit code 0 after a normal stop, 1 if a part could not be started, 2
if this machine or a setting is refused.
"""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import NoReturn

from ingest.parent_death import leashed
from webapp.config.environment import PROJECT_DIR, Environment
from webapp.config.readers import RefusedSetting
from webapp.launch import variables
from webapp.launch.home import Home, InstanceRuns

FOLDER = Path(__file__).parent
SERVES_WITHIN_S = 180
STOPS_WITHIN_S = 40
ANSWERS_WITHIN_S = 10


_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failed(Exception):
    """The message names the step and the log."""


class Stopped(Exception):
    pass


def main() -> int:
    # Until the settings are known: files of the home may contain secrets.
    os.umask(0o077)
    try:
        settings = Environment()
    except RefusedSetting as refusal:
        return _refuse(refusal)
    # The checks of `make run`, which print their own messages.
    checks = [sys.executable, str(FOLDER / "preflight.py"), "java", "home", "bind", "disk"]
    if subprocess.run(checks, check=False).returncode:
        return 2
    os.umask(settings.umask)
    home = Home(settings.home)
    try:
        with home.lock(f"process {os.getpid()}, http://{settings.bind}/"):
            return _run(settings, home)
    except InstanceRuns as running:
        return _refuse(running)


def _refuse(reason: Exception) -> int:
    print(f"weir: {reason}", file=sys.stderr)
    return 2


def _run(settings: Environment, home: Home) -> int:
    for number in _STOPS:
        signal.signal(number, _stop)
    programs: subprocess.Popen[bytes] | None = None
    code = 0
    try:
        _say(f"Weir starts in {home.root}")
        environment = variables.program_variables(settings, home, os.environ)
        home.folder("static")  # it must exist, although files are served from the checkout
        sign_in = _prepare(home, environment)
        home.record_redis(environment["WEIR_REDIS_URL"])
        programs = _supervisord(environment)
        _wait_until_served(settings.bind, home, programs)
        _say(
            f"\n  Dashboard   http://{settings.bind}/\n  {sign_in}\n\n  Weir runs. Ctrl-C stops it."
        )
        programs.wait()
        raise _find_ended(programs, home)
    except Stopped:
        pass
    except (Failed, variables.BadHeap) as fault:
        _say(f"weir: {fault}")
        code = 1
    finally:
        began = time.monotonic()
        _end(programs)
        home.forget_redis()
        _say(f"Weir stopped ({time.monotonic() - began:.1f} s)")
    return code


def _stop(_signal: int, _frame: FrameType | None) -> NoReturn:
    for number in _STOPS:
        signal.signal(number, signal.SIG_DFL)
    raise Stopped


def _prepare(home: Home, environment: Mapping[str, str]) -> str:
    began = time.monotonic()
    log = home.folder("logs") / "prepare.log"
    with log.open("w") as errors:
        command = leashed([sys.executable, "-m", "webapp.launch.prepare"])
        result = subprocess.run(
            command,
            env=environment,
            cwd=PROJECT_DIR,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            check=False,
        )
    if result.returncode:
        last = (log.read_text(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise Failed(f"The database could not be prepared: {last}. Log: {log}")
    _say(f"  Database ready ({time.monotonic() - began:.1f} s)")
    return result.stdout.strip()


def _supervisord(environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    command = leashed(
        [
            sys.executable,
            "-m",
            "supervisor.supervisord",
            "--configuration",
            str(FOLDER / "programs.conf"),
        ]
    )
    return subprocess.Popen(
        command, env=environment, cwd=PROJECT_DIR, stdin=subprocess.DEVNULL, start_new_session=True
    )


def _wait_until_served(bind: str, home: Home, programs: subprocess.Popen[bytes]) -> None:
    address = _reachable_address(bind)
    began = time.monotonic()
    while not _answers(f"http://{address}/healthz"):
        if programs.poll() is not None:
            raise _find_ended(programs, home)
        if time.monotonic() - began > SERVES_WITHIN_S:
            raise Failed(
                f"The web server does not serve after {SERVES_WITHIN_S} s: see "
                f"{home.root}/logs/web.log"
            )
        time.sleep(0.1)
    _say(f"  Web server ready ({time.monotonic() - began:.1f} s)")


def _find_ended(programs: subprocess.Popen[bytes], home: Home) -> Failed:
    return Failed(
        f"supervisord ended (code {programs.returncode}): see {home.root}/logs/supervisord.log"
    )


def _reachable_address(bind: str) -> str:
    host, _, port = bind.rpartition(":")
    try:
        is_every = ip_address(host.strip("[]")).is_unspecified
    except ValueError:  # a name
        return bind
    return f"127.0.0.1:{port}" if is_every else bind


def _answers(url: str) -> bool:
    try:
        # Weir's own address
        urllib.request.urlopen(url, timeout=ANSWERS_WITHIN_S).close()  # noqa: S310
    except urllib.error.HTTPError:  # such as for a host that WEIR_ALLOWED_HOSTS lacks
        return True
    except OSError:
        return False
    return True


def _end(programs: subprocess.Popen[bytes] | None) -> None:
    if programs is None:
        return
    programs.terminate()
    try:
        programs.wait(STOPS_WITHIN_S)
    except subprocess.TimeoutExpired:
        programs.kill()
        programs.wait()


def _say(line: str) -> None:
    try:
        print(line, flush=True)
    except (OSError, ValueError):
        # The terminal was closed.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


if __name__ == "__main__":
    sys.exit(main())

"""``python -m webapp.supervisor``: run all of Weir on this machine until Ctrl-C.

Starts what is not given by the environment (Redis, Spark), prepares the database, serves the pages,
plays the shipped recordings, and stops everything it started, whatever ends it. Exit code 0
after a normal stop, 1 when a part could not be started, 2 when this machine or a setting is refused.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from webapp.config.environment import Environment
from webapp.config.readers import RefusedSetting
from webapp.supervisor.child import NotReady
from webapp.supervisor.console import say, say_step
from webapp.supervisor.home import Home, InstanceRuns
from webapp.supervisor.instance import Failed, Instance, Stopped
from webapp.supervisor.spark_connect import BadHeap


def main() -> int:
    os.umask(0o077)  # until the settings are known: the home holds secrets and what clusters reported
    try:
        settings = Environment()
    except RefusedSetting as refusal:
        print(f"weir: {refusal}", file=sys.stderr)
        return 2
    if not _machine_is_fit():
        return 2
    os.umask(settings.umask)
    home = Home(settings.home)
    try:
        lock = home.lock(f"process {os.getpid()}, http://{settings.bind}/")
    except InstanceRuns as running:
        print(f"weir: {running}", file=sys.stderr)
        return 2
    with lock:
        return _run(settings, home)


def _run(settings: Environment, home: Home) -> int:
    stop = threading.Event()
    instance = Instance(settings, home, os.environ, stop)
    _stop_on_signals(instance, stop)
    say(f"Weir starts in {home.root}")
    code = 0
    try:
        _start(instance)
        stop.wait()
    except Stopped:
        pass
    except (NotReady, Failed, BadHeap) as fault:
        say(f"weir: {fault}")
        code = 1
    say("Stopping …")
    began = time.monotonic()
    instance.end()
    say_step("Weir", "stopped", time.monotonic() - began)
    return code


def _start(instance: Instance) -> None:
    """Pages come first, and show what is read while it arrives."""
    redis = instance.start_redis()
    instance.prepare_spark()
    demo = instance.start_demo()
    began = time.monotonic()
    sign_in = instance.run_step("webapp.supervisor.prepare", "prepare", is_shown=False)
    say_step("Database", "ready", time.monotonic() - began)
    instance.wait_ready("Redis", redis)
    instance.wait_ready("Web server", instance.start_web())
    instance.start_workers()
    say(f"\n  Dashboard   http://{instance.settings.bind}/")
    say("".join(f"  {line}\n" for line in sign_in))
    instance.wait_ready("Demo", demo)
    say("  Weir runs. Ctrl-C stops it.")


def _machine_is_fit() -> bool:
    """The checks of ``make run`` for who starts without make; they print their own sentences."""
    check = [sys.executable, str(Path(__file__).with_name("preflight.py")), "java", "home", "bind", "disk"]
    return subprocess.run(check, check=False).returncode == 0


def _stop_on_signals(instance: Instance, stop: threading.Event) -> None:
    """The first signal stops in good order, the second one at once.

    A handler must not touch the event, whose lock the interrupted thread may hold: it only wakes a thread.
    """
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)

    def watch() -> None:
        os.read(awake, 1)
        stop.set()
        os.read(awake, 1)
        instance.kill()

    threading.Thread(target=watch, name="signals", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())

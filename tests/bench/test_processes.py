import os
import subprocess
import sys
import time

from tests.bench.processes import used

BURNT_S = 0.6
BURN = f"import time\nwhile time.process_time() < {BURNT_S}: pass"
PARENT = f"""
import os, signal, subprocess, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", {BURN!r}])
os.close(1)
sys.stdin.read()
"""


def test_a_process_beside_counts_with_those_that_it_started_and_that_have_ended() -> None:
    heard, told = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=told
    ) as beside:
        os.close(told)
        # It ends with the one that calculates.
        with subprocess.Popen(["cat"], stdin=heard, text=True) as waits:
            os.close(heard)
            found = used(waits, time.monotonic(), beside=[beside.pid])
        assert BURNT_S / 2 < found.cpu_s < 2 * BURNT_S
        assert beside.stdin
        beside.stdin.close()


def test_nothing_counts_that_was_done_before() -> None:
    with subprocess.Popen(["sleep", "0.1"], text=True) as sleeps:
        assert used(sleeps, time.monotonic(), beside=[os.getpid()]).cpu_s < time.process_time() / 2

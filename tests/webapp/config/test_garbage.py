"""Requests do not wait for the garbage collector, and garbage in cycles goes all the same."""

import subprocess
import sys

from webapp.config.environment import PROJECT_DIR

PAGES = """
full = 0
def noted(phase, about):
    global full
    full += phase == "stop" and about["generation"] == 2
gc.callbacks.append(noted)
for page in range(30):
    rows = [{"host": [page, number]} for number in range(10_000)]
print(full)
"""
CYCLES = """
alive = 0
class Node:
    def __init__(self):
        global alive
        alive += 1
        self.itself = self
    def __del__(self):
        global alive
        alive -= 1
for _ in range(100_000):
    Node()
print(alive)
"""


AS_THE_SERVER = (
    "import gc; from webapp.config.garbage import collect_garbage_rarely; collect_garbage_rarely()"
)


def printed(code: str, begins: str = AS_THE_SERVER) -> int:
    done = subprocess.run(
        [sys.executable, "-c", begins + code],
        cwd=PROJECT_DIR,
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    return int(done.stdout)


def test_pages_of_thousands_of_rows_wait_for_no_walk_over_all_objects() -> None:
    assert printed(PAGES) == 0
    assert printed(PAGES, "import gc") > 1, "or the line above proves nothing"


def test_garbage_in_cycles_goes_while_more_is_made() -> None:
    assert printed(CYCLES) < 20_000

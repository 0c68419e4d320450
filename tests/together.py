"""``make test``: the tests against a real Flink beside all others, since those mostly wait and these mostly compute.

``python -m tests.together [pytest options]``. The output of the first part comes as it runs, that of the second when it has
ended. Exit code 0 when both parts passed; one in which the options select nothing does not count.
"""

import subprocess
import sys
import tempfile
import time

NOTHING_SELECTED = 5
PARTS = ("not integration", "integration")


def main(options: list[str]) -> int:
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as told:
        aside = subprocess.Popen(_command(PARTS[1], options), stdout=told, stderr=subprocess.STDOUT)
        try:
            codes = [subprocess.call(_command(PARTS[0], options)), aside.wait()]
        except BaseException:
            aside.terminate()
            aside.wait()
            raise
        told.seek(0)
        print(f"\nAgainst a real Flink:\n{told.read()}", flush=True)
    print(f"Both parts took {time.monotonic() - began:.0f} s.", flush=True)
    return max(code for code in codes if code != NOTHING_SELECTED) if set(codes) != {NOTHING_SELECTED} else NOTHING_SELECTED


def _command(marked: str, options: list[str]) -> list[str]:
    # A cache of its own: two runs would overwrite each other's list of failures.
    cache = f"cache_dir=.pytest_cache/{marked.replace(' ', '-')}"
    return [sys.executable, "-m", "pytest", "-m", marked, "-o", cache, *options]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

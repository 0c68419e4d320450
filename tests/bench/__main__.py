"""``python -m tests.bench [NAME …]``: run all benches, but those on demand, or the named ones
(``bench_NAME.py``), one after the other.

Exit code 0 when every budget holds, 1 when one is missed or a bench breaks, 2 for an unknown name.
"""

import argparse
import importlib
import os
import sys
import time
import traceback
from pathlib import Path

from tests.bench.harness import Report

ON_DEMAND = frozenset({"fleet_50k"})
"""Benches that run only where they are named."""

_FOLDER = Path(__file__).parent


def available() -> list[str]:
    """Names of the benches that exist, in order."""
    return sorted(path.stem.removeprefix("bench_") for path in _FOLDER.glob("bench_*.py"))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description="Measure Weir against its budgets."
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"which ones (default all but {', '.join(ON_DEMAND)}): {', '.join(available())}",
    )
    names = parser.parse_args(arguments).names or [
        name for name in available() if name not in ON_DEMAND
    ]
    unknown = [name for name in names if name not in available()]
    if unknown:
        print(
            f"No such bench: {', '.join(unknown)}. There are: {', '.join(available())}.",
            file=sys.stderr,
        )
        return 2
    report, broken = Report(), []
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    for name in names:
        print(f"\n{name}", flush=True)
        started = time.monotonic()
        try:
            importlib.import_module(f"tests.bench.bench_{name}").run(report)
        except Exception:  # one broken bench must not hide the figures of the others
            traceback.print_exc()
            broken.append(name)
        print(f"  ({time.monotonic() - started:.0f} s)", flush=True)
    print(
        f"\n{len(report.figures)} figures, {len(report.missed)} budgets missed, {len(broken)} "
        "benches broken"
    )
    for problem in (*report.missed, *broken):
        print(f"  {problem}")
    return 1 if report.missed or broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What a running Weir takes of a laptop when nothing happens: memory of all its processes, and CPU,
with what it comes with.

One recording is in, so that every worker has done its work at least once. Memory is the kernel's
PSS: what processes share counts once.
"""

import os
import re
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from tests.bench.harness import Report
from tests.bench.processes import own_ticks, ticks_with_ended_children
from tests.integration.running import RunningWeir, until
from webapp.config.environment import PROJECT_DIR

MEMORY_BUDGET_MB, CPU_BUDGET_PERCENT = 2000, 5
WATCHED_S = 60
SETTLES_S = 20
RECORDING = PROJECT_DIR / "tests" / "fixtures" / "recordings" / "1.20.5" / "E"
KINDS = (
    "webapp.launch.web",
    "celery worker",
    "celery beat",
    "valkey",
    "java",
    "supervisord",
    "webapp.launch",
)


def run(report: Report) -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        RunningWeir(Path(name) / "home", WEIR_DEMO="false") as weir,
    ):
        weir.wait_up()
        until(
            lambda: (
                len(list((weir.home / "logs").glob("worker-*.log"))) == 5
                and _workers_ready(weir) == 5
            ),
            120,
            "five ready workers",
        )
        report(
            "CPU of a start, until all workers are ready", sum(map(_cpu_s, weir.processes())), "s"
        )
        assert weir.manage("import_recording", str(RECORDING), "--cluster", "c").returncode in (
            0,
            1,
        )
        assert weir.manage("run_pipeline").returncode == 0
        time.sleep(SETTLES_S)
        before, began = {pid: own_ticks(pid) for pid in weir.processes()}, time.monotonic()
        time.sleep(WATCHED_S)
        percent = _percent_by_kind(weir, before, time.monotonic() - began)
        _print("% of a core", percent)
        memory = _memory_by_kind(weir)
        _print("MB", memory)
        report(
            f"CPU when nothing happens, {WATCHED_S} s",
            sum(percent.values()),
            "% core",
            budget=CPU_BUDGET_PERCENT,
        )
        report("memory of all processes", sum(memory.values()), "MB", budget=MEMORY_BUDGET_MB)


def _workers_ready(weir: RunningWeir) -> int:
    return sum(
        "ready." in log.read_text(errors="replace")
        for log in (weir.home / "logs").glob("worker-*.log")
    )


def _cpu_s(pid: int) -> float:
    return ticks_with_ended_children(pid) / os.sysconf("SC_CLK_TCK")


def _percent_by_kind(weir: RunningWeir, before: dict[int, int], seconds: float) -> dict[str, float]:
    """What began and ended meanwhile is missing."""
    found: dict[str, float] = defaultdict(float)
    for pid, command in weir.processes().items():
        found[_kind(command)] += (
            (own_ticks(pid) - before.get(pid, 0)) / os.sysconf("SC_CLK_TCK") / seconds * 100
        )
    return found


def _memory_by_kind(weir: RunningWeir) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for pid, command in weir.processes().items():
        found[_kind(command)] += _pss_mb(pid)
    return found


def _pss_mb(pid: int) -> float:
    try:
        told = re.search(
            r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE
        )
    except OSError:
        return 0.0
    return int(told[1]) / 1024 if told else 0.0


def _kind(command: str) -> str:
    name = command.rpartition("(")[2].rstrip(")")
    return next(
        (name if kind in name else kind for kind in KINDS if kind in name or kind in command),
        command[:40],
    )


def _print(unit: str, by_kind: dict[str, float]) -> None:
    for kind, value in sorted(by_kind.items(), key=lambda item: -item[1]):
        print(f"  {kind:<24} {value:8.2f} {unit}")

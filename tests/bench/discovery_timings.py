"""In a process of its own, one core: ``python -m tests.bench.discovery_timings TARGETS CLUSTERS``
prints figures as JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import django
import time_machine

django.setup()

from django.core.management import call_command  # noqa: E402  # Django first
from django.utils import timezone  # noqa: E402

from ingest.discovery.sources import DiscoverySource  # noqa: E402
from tests.bench.bench_collect import CYCLE_S, FIRST_PORT, ask, one_core, simulated  # noqa: E402
from tests.bench.bench_discovery import CHANGED  # noqa: E402
from webapp.fleet.models import Cluster, SourceReading  # noqa: E402
from webapp.pipeline import discovering  # noqa: E402
from webapp.work.keys import COLLECT  # noqa: E402
from webapp.work.models import DueWork  # noqa: E402
from webapp.work.perform import perform  # noqa: E402
from webapp.work.registry import intervals_s  # noqa: E402

STEADY_CYCLES = 2


def main(
    targets: Path, clusters: int, advance: Callable[[], object]
) -> list[tuple[str, float, str]]:
    def lists(first: int) -> None:
        entries = [
            {
                "targets": [f"127.0.0.1:{FIRST_PORT + number % clusters}"],
                "labels": {"cluster": f"c{number}", "team": f"t{number % 40}"},
            }
            for number in range(first, first + clusters)
        ]
        targets.write_text(json.dumps(entries))

    call_command("migrate", verbosity=0)
    DueWork.objects.ensure(intervals_s(), timezone.now())
    lists(0)
    figures = [(f"{clusters} clusters come", seconds(read), "s")]
    assert Cluster.objects.collected().count() == clusters
    DueWork.objects.ensure(intervals_s(), timezone.now())
    for cycle in range(1 + STEADY_CYCLES):
        name = "steady cycle" if cycle else "first cycle"
        with time_machine.travel(timezone.now() + timedelta(seconds=CYCLE_S * cycle)):
            figures.append((f"{name} over all {clusters} clusters", seconds(collect_all), "s"))
        advance()
    seen = sum(
        cluster.visibility_at(timezone.now()) == "live"
        for cluster in Cluster.objects.defer("cursor")
    )
    figures.append(("clusters seen", seen, ""))
    assert seen == clusters
    lists(CHANGED)
    took = seconds(read)
    assert (
        Cluster.objects.exclude(left_at=None).count() == CHANGED
        and Cluster.objects.collected().count() == clusters
    )
    figures.append((f"{CHANGED} clusters leave and {CHANGED} come", took, "s"))
    figures.append(
        (
            "a change is visible after at most",
            DiscoverySource("x").refresh_s + discovering.EVERY_S + took,
            "s",
        )
    )
    return figures


def seconds(done: Callable[[], None]) -> float:
    began = time.perf_counter()
    done()
    return time.perf_counter() - began


def read() -> None:
    SourceReading.objects.update(due_at=timezone.now())
    perform(discovering.KEY, even_if_not_due=True)


def collect_all() -> None:
    for key in sorted(key for key in intervals_s() if key.startswith(COLLECT)):
        perform(key, even_if_not_due=True)


if __name__ == "__main__":
    with simulated(int(sys.argv[2]), 1) as fleet, one_core():
        print(
            json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), lambda: ask(fleet, "advance 3")))
        )

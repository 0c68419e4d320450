"""From Flink to people, with the settings that `make run` comes with: a whole Weir watches a real
Flink whose every third checkpoint fails.

1. Evidence in Flink → row: from the last acknowledgement of a completed checkpoint until the API
   serves it as completed.
2. Evidence in the lake → first webhook attempt: clusters that Weir did not know before (all of them
   this Flink), one at a time and at odd times; from the commit that holds the first failed
   checkpoint of one until a real receiver is told of it.
"""

import json
import random
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq

from ingest.lake.store import Lake
from tests.bench.harness import Report, p95
from tests.integration.running import RunningWeir, until
from tests.lab.cluster import Lab, start
from tests.webapp.delivery.receiver import Receiver, receiving

BUDGET_S = 15
PIECES = 20
WARMING = 2
LOOKED_EVERY_S = 0.5
SLOT = 3
LOOPBACK = {
    "WEIR_DEMO": "false",
    "WEIR_WEBHOOK_ALLOW_HTTP": "true",
    "WEIR_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
}


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as name, receiving() as receiver:
        folder = Path(name)
        with (
            start(incident="declined", slot=SLOT, folder=folder / "flink") as lab,
            RunningWeir(folder / "home", **LOOPBACK) as weir,
        ):
            weir.wait_up()
            assert weir.sign_in(*weir.printed_sign_in())
            weir.add_endpoint(f"{receiver.url}/ok")
            told = [_tell(weir, lab, receiver, f"warm-{number}") for number in range(WARMING)]
            page = _Page(weir, lab.job_id)
            page.start()
            told = [_tell(weir, lab, receiver, f"piece-{number}") for number in range(PIECES)]
            page.stop()
            cycles = weir.rows(
                "SELECT duration_ms, counts FROM work_pipelinerun WHERE key = 'spark/cycle' AND "
                "state = 'done'"
            )
            collections = weir.rows(
                "SELECT duration_ms FROM work_pipelinerun WHERE kind = 'collect' AND state = 'done'"
            )
        committed = _committed(folder / "home" / "lake")
    report_waits("a collection", [row[0] / 1000 for row in collections], report)
    report_waits("a cycle", [row[0] / 1000 for row in cycles[WARMING:]], report)
    report_waits("checkpoint acknowledged in Flink to row served", page.waits_s, report, BUDGET_S)
    report_waits(
        "failure in the lake to first attempt",
        [at - committed[cluster] for cluster, at in told],
        report,
        BUDGET_S,
    )


class _Page(threading.Thread):
    """Looks at the API again and again, and notes of each completed checkpoint how old it was when
    it was first served.
    """

    def __init__(self, weir: RunningWeir, job_id: str) -> None:
        super().__init__(daemon=True)
        self.waits_s: list[float] = []
        self._weir, self._job_id = weir, job_id
        self._ended = threading.Event()

    def run(self) -> None:
        known: set[int] | None = None
        while not self._ended.wait(LOOKED_EVERY_S):
            rows = self._weir.api(f"/api/v1/checkpoints/?cluster={WATCHED}&outcome=completed")[
                "results"
            ]
            now = time.time()
            fresh = {
                row["checkpoint_id"]: _acknowledged(row)
                for row in rows
                if row["checkpoint_id"] not in (known or ())
            }
            if known is not None:  # what was there before anybody looked is no news
                self.waits_s += [now - at for at in fresh.values()]
            known = (known or set()) | fresh.keys()

    def stop(self) -> None:
        self._ended.set()
        self.join()


WATCHED = "warm-0"
"""The cluster that stays; of the others each is asked until it is told of."""


def _acknowledged(row: Mapping[str, object]) -> float:
    triggered = datetime.fromisoformat(str(row["trigger_time"]))
    return (triggered + timedelta(milliseconds=int(str(row["end_to_end_ms"])))).timestamp()


def _tell(weir: RunningWeir, lab: Lab, receiver: Receiver, cluster: str) -> tuple[str, float]:
    """Have a new cluster found; returns it and when the receiver was first told of it, in seconds
    since 1970.
    """
    time.sleep(random.uniform(1, 8))
    code = (
        "from django.core.management import call_command; from webapp.fleet.models import Cluster; "
        f"Cluster.objects.exclude(name={WATCHED!r}).update(enabled=False); "
        f"call_command('add_cluster', {cluster!r}, {lab.url!r}, logs=[{lab.log_glob!r}])"
    )
    added = weir.manage("shell", "-v", "0", "-c", code)
    assert added.returncode == 0, added.stderr
    return cluster, until(lambda: first_told(receiver, cluster), 900, f"a notice about {cluster}")


def first_told(receiver: Receiver, cluster: str) -> float | None:
    return next(
        (
            got.at
            for got in list(receiver.got)
            if json.loads(got.body)["data"]["cluster"] == cluster
        ),
        None,
    )


def _committed(root: Path) -> dict[str, float]:
    """Cluster → when the first commit with a failed checkpoint of it was there, in seconds since
    1970.
    """
    first: dict[str, int] = {}
    for file in Lake(str(root)).files("checkpoints"):
        for row in pq.read_table(
            file.uri, columns=["cluster", "status", "commit_seq"], partitioning=None
        ).to_pylist():
            if row["status"] == "FAILED":
                first[row["cluster"]] = min(
                    row["commit_seq"], first.get(row["cluster"], row["commit_seq"])
                )
    log = root / "checkpoints" / "_delta_log"
    return {cluster: (log / f"{seq:020d}.json").stat().st_mtime for cluster, seq in first.items()}


def report_waits(
    what: str, waits_s: Sequence[float], report: Report, budget_s: float | None = None
) -> None:
    ordered = sorted(waits_s)
    report(f"{what}, median of {len(ordered)}", ordered[len(ordered) // 2], "s")
    report(f"{what}, p95", p95(ordered), "s", budget=budget_s)

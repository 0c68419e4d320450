"""From a failure in a real Flink to the first attempt to tell of it, for five kinds of failures,
with the settings that `make run` comes with.

What passes in between: the failure waits for the next collection (they begin 8 s apart), that ends
within a second; the cycle that it hints at waits for the one before (8 s apart) and takes two or
three seconds with its load; evaluation, notice and attempt follow within a second each. The wait of
a group (10 s) counts from the failure, so that it is over by then. A TaskManager counts as lost for
a job that has not run for 10 s, a JobManager as gone when three collections in a row found no
process listening.
"""

import json
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.harness import Report, p95
from tests.integration.running import RunningWeir, until
from tests.lab.cluster import Lab, start
from tests.lab.slow_network import SlowLink
from tests.webapp.delivery.receiver import Receiver, receiving
from webapp.launch.home import free_port

BUDGET_S = 30
TIMES = 5
CLUSTER = "living"
SLOT = 4
UNLIMITED_BYTES_PER_S = 1_000_000_000
LOOPBACK = {
    "WEIR_DEMO": "false",
    "WEIR_WEBHOOK_ALLOW_HTTP": "true",
    "WEIR_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
}


def run(report: Report, times: int = TIMES) -> None:
    with tempfile.TemporaryDirectory() as name, receiving() as receiver:
        folder = Path(name)
        with (
            start(incident="healthy", slot=SLOT, folder=folder / "flink") as lab,
            RunningWeir(folder / "home", **LOOPBACK) as weir,
        ):
            weir.wait_up()
            weir.add_endpoint(f"{receiver.url}/ok")
            _add(weir, CLUSTER, lab.url, "--logs", lab.log_glob)
            lab.cancel()
            scene = _Scene(lab, weir, receiver)
            kinds = (scene.decline, scene.expiry, scene.restart_loop, scene.lost_taskmanager)
            scene.decline()  # the first cycles of a Weir read its modules
            waits_s: dict[str, list[float]] = {}
            for _ in range(times):
                for fail in (*kinds, scene.lost_jobmanager):
                    time.sleep(random.uniform(0, 8))
                    waits_s.setdefault(fail.__name__, []).append(fail())
            stages = weir.rows(STAGES)
            took = weir.rows(
                "SELECT kind, duration_ms FROM work_pipelinerun WHERE state = 'done' AND kind IN "
                "('collect', 'spark')"
            )
    for kind in ("collect", "spark"):
        _tell(f"a run of {kind}", [row[1] / 1000 for row in took if row[0] == kind], report)
    for place, stage in enumerate(("alert made to notice made", "notice made to attempt")):
        _tell(stage, [row[place] for row in stages], report)
    for kind, waits in waits_s.items():
        _tell(f"{kind.replace('_', ' ')} to first attempt", waits, report, BUDGET_S)
    _tell("all of them", [wait for waits in waits_s.values() for wait in waits], report, BUDGET_S)


STAGES = """
    SELECT min((julianday(d.made_at) - julianday(a.created_at)) * 86400.0),
           min((julianday(t.at) - julianday(d.made_at)) * 86400.0)
    FROM alerting_alert a JOIN delivery_deliveryalert n ON n.alert_uid = a.uid
    JOIN delivery_delivery d ON d.id = n.delivery_id JOIN delivery_attempt t ON t.delivery_id = d.id
    GROUP BY a.id
"""


class _Scene:
    """Each failure is one of a new job (or cluster); returns seconds until the receiver was told of
    it first.
    """

    def __init__(self, lab: Lab, weir: RunningWeir, receiver: Receiver) -> None:
        self._lab, self._weir, self._receiver = lab, weir, receiver
        self._jobs = 0

    def decline(self) -> float:
        with self._job("declined") as job:
            return self._told(self._failed_checkpoint(job), job_id=job, rule="checkpoint.declined")

    def expiry(self) -> float:
        short = {"set.execution.checkpointing.timeout": "3s"}
        with self._job("expired", **short) as job:
            return self._told(self._failed_checkpoint(job), job_id=job, rule="checkpoint.expired")

    def restart_loop(self) -> float:
        """The third failure makes it one."""
        with self._job("crashing", **{"fail-every-s": "6"}) as job:

            def third() -> float | None:
                known = self._lab.get(f"/jobs/{job}/exceptions?maxExceptions=20")
                times = sorted(entry["timestamp"] for entry in known["exceptionHistory"]["entries"])
                return times[2] / 1000 if len(times) > 2 else None

            return self._told(until(third, 120, "a third failure"), job_id=job, rule="restart.loop")

    def lost_taskmanager(self) -> float:
        with self._job("healthy", **{"enrich-parallelism": "8"}) as job:
            self._lab.wait_for(lambda account: account["counts"]["completed"] >= 2, job_id=job)
            self._lab.kill_taskmanager(2)
            try:
                return self._told(time.time(), job_id=job, rule="restart.taskmanager_lost")
            finally:
                self._lab.start_taskmanager(2)
                self._lab.wait_up()

    def lost_jobmanager(self) -> float:
        """Its port is closed to Weir; the cluster goes on for the next failures."""
        self._jobs += 1
        cluster, port = f"gone-{self._jobs}", free_port()
        rest = ("127.0.0.1", self._lab.layout.rest_port)
        door = SlowLink(("127.0.0.1", port), rest, UNLIMITED_BYTES_PER_S)
        _add(self._weir, cluster, f"http://127.0.0.1:{port}")
        answered = (
            f"SELECT 1 FROM fleet_cluster WHERE name = '{cluster}' AND last_success_at IS NOT NULL"
        )
        until(lambda: self._weir.rows(answered), 60, f"an answer of {cluster}")
        time.sleep(random.uniform(0, 8))
        gone = time.time()
        door.close()
        wait_s = self._told(gone, cluster=cluster, rule="collect.blind")
        code = (
            "from webapp.fleet.models import Cluster; "
            f"Cluster.objects.filter(name={cluster!r}).update(enabled=False)"
        )
        assert self._weir.manage("shell", "-v", "0", "-c", code).returncode == 0
        return wait_s

    @contextmanager
    def _job(self, incident: str, **changed: str) -> Iterator[str]:
        self._jobs += 1
        job = self._lab.play(incident, name=f"{incident}-{self._jobs}", **changed)
        try:
            yield job
        finally:
            self._lab.cancel(job_id=job)

    def _failed_checkpoint(self, job: str) -> float:
        account = self._lab.wait_for(lambda known: bool(known["latest"]["failed"]), job_id=job)
        return float(account["latest"]["failed"]["failure_timestamp"]) / 1000

    def _told(self, failed_at: float, **of: str) -> float:
        """``of``: the alert that is waited for, by fields of it."""

        def first() -> float | None:
            return next(
                (
                    got.at
                    for got in list(self._receiver.got)
                    for alert in json.loads(got.body)["data"]["alerts"]
                    if all(alert[name] == value for name, value in of.items())
                ),
                None,
            )

        return float(until(first, 300, f"a notice of {of}")) - failed_at


def _add(weir: RunningWeir, *arguments: str) -> None:
    added = weir.manage("add_cluster", *arguments)
    assert added.returncode == 0, added.stdout + added.stderr


def _tell(what: str, values: list[Any], report: Report, budget_s: float | None = None) -> None:
    ordered = sorted(values)
    report(f"{what}, median of {len(ordered)}", ordered[len(ordered) // 2], "s")
    report(f"{what}, p95", p95(ordered), "s", budget=budget_s)

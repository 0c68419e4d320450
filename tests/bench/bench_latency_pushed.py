"""From an event of a real Flink to people: a whole Weir knows only the events that Flink's own
OpenTelemetry exporter pushes, passed on as a Collector does it.

Clusters that Weir did not know before (all of them this Flink), one at a time and at odd times; from
the instant at which Flink reports the first failure of one, a checkpoint's or the job's, until a real
receiver is told of it. The second for which the exporter gathers events is part of that. Settings are
those of `make run`, but a notice does not wait ten seconds for others of its group.
"""

import random
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.bench.bench_latency import LOOPBACK, PIECES, SLOT, WARMING, first_told, report_waits
from tests.bench.harness import Report
from tests.integration.running import RunningWeir
from tests.lab.cluster import start
from tests.lab.configuration import Layout
from tests.webapp.delivery.receiver import Got, Receiver, receiving

BUDGET_S = 5
TOLD_WITHIN_S = 300


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as name, receiving() as receiver:
        folder = Path(name)
        with (
            receiving(port=Layout(folder, SLOT).otlp_port) as collector,
            start("2.3.0", "reported", SLOT, folder / "flink"),
            RunningWeir(folder / "home", **LOOPBACK, WEIR_ALERT_GROUP_WAIT_S="0") as weir,
        ):
            weir.wait_up()
            assert weir.sign_in(*weir.printed_sign_in())
            weir.add_endpoint(f"{receiver.url}/ok")
            waits_s = [
                _wait_s(weir, collector, receiver, f"pushed-{number}")
                for number in range(WARMING + PIECES)
            ][WARMING:]
    report_waits("failure in Flink, pushed, to first attempt", waits_s, report, BUDGET_S)


def _wait_s(weir: RunningWeir, collector: Receiver, receiver: Receiver, cluster: str) -> float:
    time.sleep(random.uniform(1, 8))
    code = (
        "from django.core.management import call_command; from webapp.fleet.models import Cluster; "
        f"call_command('add_cluster', {cluster!r}, pushed_logs=True, untested=True); "
        f"Cluster.objects.exclude(name={cluster!r}).update(enabled=False); "
        f"call_command('push_token', {cluster!r})"
    )
    added = weir.manage("shell", "-v", "0", "-c", code)
    assert added.returncode == 0, added.stderr
    token, passed_on = added.stdout.split()[-1], len(collector.got)
    failed_at, deadline = None, time.monotonic() + TOLD_WITHIN_S
    while (told_at := first_told(receiver, cluster)) is None:
        assert time.monotonic() < deadline, f"nobody was told of {cluster}"
        for got in collector.got[passed_on:]:
            passed_on += 1
            if got.path.endswith("/logs"):
                failed_at = failed_at or _failed_at(got)
                _pass_on(weir, got, token)
        time.sleep(0.02)
    assert failed_at is not None
    print(f"  {cluster} {told_at - failed_at:.1f} s", flush=True)
    return told_at - failed_at


def _pass_on(weir: RunningWeir, got: Got, token: str) -> None:
    headers = {
        "Content-Type": got.headers["content-type"],
        "Authorization": f"Bearer {token}",
    }
    address = f"http://{weir.bind}/api/v1/push{got.path}"
    for _attempt in range(5):
        try:
            request = urllib.request.Request(address, got.body, headers)
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert answer.read() == b"", "a record was rejected"
            return
        except (ConnectionError, urllib.error.URLError) as error:
            print(f"  sent once more: {error}", flush=True)
            time.sleep(0.2)
    raise AssertionError("Weir takes no reports")


def _failed_at(got: Got) -> float | None:
    """When Flink reported the first failure among these events, in seconds since 1970."""
    reported_ns = [
        record.time_unix_nano
        for resource in ExportLogsServiceRequest.FromString(got.body).resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
        for values in [{pair.key: pair.value.string_value for pair in record.attributes}]
        if values["name"] == "JobFailureEvent" or values.get("checkpointStatus") == "FAILED"
    ]
    return min(reported_ns) / 1e9 if reported_ns else None

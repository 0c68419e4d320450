"""Clusters of a Kubernetes, from the API server to the pages: they come, go, keep labels, and what
their operator says is shown.

The API server is one of the tests over HTTPS (:mod:`tests.kubernetes_api`), signed in to by a
kubeconfig.
"""

import json
from datetime import timedelta
from pathlib import Path
from time import monotonic

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from ingest.discovery.kubernetes import reading
from ingest.discovery.sources import DiscoverySource
from ingest.lake.store import Lake
from ingest.recordings.importer import import_recording
from ingest.shard_collector import collect_shard
from spark_jobs.serving import FINDING_OCCURRENCE, JOB_ANNOTATION, LOG_EVENT, TASKMANAGER_LIFE
from tests import kubernetes_objects as objects
from tests.first_cycles import cycled
from tests.kubernetes_api import KubernetesApi, status
from tests.kubernetes_objects import condition, terminated
from tests.told_logs import BEGUN, JOB, Story
from tests.webapp.builders import job
from webapp.findings import unreachable_clusters
from webapp.findings.models import Finding
from webapp.fleet.attempts import link
from webapp.fleet.models import Cluster, JobAnnotation, JobCurrent, SourceReading
from webapp.fleet.pipeline_status.status import status as status_of_pipeline
from webapp.pipeline import discovering
from webapp.work.models import DueWork
from webapp.work.perform import perform
from webapp.work.registry import intervals_s

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(tmp_path, settings, db):
    cache.clear()
    reading._listed.clear()
    server = KubernetesApi(tmp_path)
    (tmp_path / "sources.yml").write_text(
        f"sources: [{{name: k8s, kubernetes: {{kubeconfig: {server.kubeconfig()}}}}}]"
    )
    object.__setattr__(settings.WEIR, "sources", str(tmp_path / "sources.yml"))
    yield server
    object.__setattr__(settings.WEIR, "sources", "")
    server.stop()


def follow():
    DueWork.objects.ensure(intervals_s(), timezone.now())
    SourceReading.objects.update(due_at=timezone.now())
    perform(discovering.KEY, even_if_not_due=True)


def visible():
    return {row.name: str(row.visibility) for row in Cluster.objects.all()}


def seen(name):
    """As after a cycle in which its JobManager answered."""
    now = timezone.now()
    Cluster.objects.filter(name=name).update(last_collected_at=now, last_success_at=now)


def test_clusters_come_and_go_and_keep_their_labels(api, operator):
    orders = objects.deployment("orders", team="shop", environment="prod")
    api.put("flinkdeployments", orders)
    api.put("services", objects.rest_service("bills", "money", port=80))
    follow()
    rows = Cluster.objects.order_by("name").values_list("name", "url", "labels", "found_by")
    assert list(rows) == [
        ("money.bills", "http://bills-rest.money:80", {"namespace": "money"}, "k8s"),
        (
            "shop.orders",
            "http://orders-rest.shop:8081",
            {"namespace": "shop", "team": "shop", "environment": "prod"},
            "k8s",
        ),
    ]
    api.delete("flinkdeployments", orders)
    follow()
    assert visible() == {"money.bills": "new", "shop.orders": "left"}
    listed = operator.get(reverse("clusters"), {"label": "namespace=money"}).content.decode()
    assert "money.bills" in listed and "shop.orders" not in listed


def test_an_api_server_that_refuses_changes_nothing_and_the_pipeline_page_says_why(api, operator):
    api.put("flinkdeployments", objects.deployment("orders"))
    follow()
    api.odd = {"flinkdeployments": status(403)}
    follow()
    assert visible() == {"shop.orders": "new"}
    page = operator.get(reverse("pipeline")).content.decode()
    assert "RBAC does not allow" in page and "canary" not in page


def test_a_jobmanager_that_the_operator_cannot_bring_up_is_shown_as_that_and_its_job_is_not_healthy(
    api, viewer
):
    api.put("flinkdeployments", objects.deployment("orders"))
    follow()
    seen("shop.orders")
    assert visible() == {"shop.orders": "live"}
    found = job("shop.orders", at=timezone.now())
    api.put("flinkdeployments", objects.deployment("orders", status=objects.FAILED_DEPLOY))
    follow()
    assert visible() == {"shop.orders": "broken"}
    unreachable_clusters.watch(timezone.now())
    ((state, health),) = [
        (row.status, row.health) for row in JobCurrent.objects.with_status(timezone.now())
    ]
    assert state == "UNKNOWN" and health is None
    page = viewer.get(reverse("clusters")).content.decode()
    assert "not running" in page and "CrashLoopBackOff" in page and "1 not seen" in page
    assert (
        "CrashLoopBackOff"
        in viewer.get(reverse("job", args=("shop.orders", found.job_id))).content.decode()
    )
    (row,) = viewer.get("/api/v1/clusters/").json()["results"]
    assert row["visibility"] == "broken" and "CrashLoopBackOff" in row["operator"]["error"]


def test_silence_of_what_is_meant_to_be_suspended_is_no_finding_and_of_what_is_not_says_the_operators_words(
    api,
):
    api.put("flinkdeployments", objects.deployment("rests", status=objects.SUSPENDED))
    api.put("flinkdeployments", objects.deployment("broken", status=objects.FAILED_DEPLOY))
    follow()
    long_ago = timezone.now() - timedelta(hours=1)
    Cluster.objects.update(
        created_at=long_ago,
        last_collected_at=timezone.now(),
        consecutive_failures=9,
        last_error="It cannot be reached.",
    )
    unreachable_clusters.watch(timezone.now())
    (silent,) = Finding.objects.open().filter(rule="collect.blind")
    assert silent.cluster == "shop.broken" and "CrashLoopBackOff" in json.dumps(
        [silent.evidence, silent.cause, silent.data]
    )
    assert visible() == {"shop.rests": "suspended", "shop.broken": "broken"}
    assert status_of_pipeline(timezone.now()).unreachable_clusters == 1


def test_what_the_operator_says_changes_without_the_cluster_being_called_changed(api):
    api.put("flinkdeployments", objects.deployment("orders"))
    follow()
    Cluster.objects.update(cursor={"rest": {"seen": 1}})
    api.put("events", objects.event("SpecChanged", objects.UPGRADE, objects.STARTED_MS))
    follow()
    row = Cluster.objects.get()
    (event,) = row.source().operator_events
    assert (event.reason, event.job_id, row.cursor) == (
        "SpecChanged",
        objects.JOB,
        {"rest": {"seen": 1}},
    )


def test_the_command_says_what_would_come_change_and_leave(api, capsys):
    api.put("flinkdeployments", objects.deployment("orders"))
    api.odd = {"/events": status(403)}
    call_command("discover")
    said = capsys.readouterr().out
    assert (
        "k8s (kubernetes:" in said
        and "come     shop.orders" in said
        and "refused  /api/v1/events" in said
    )
    assert not Cluster.objects.exists()
    api.odd = {}
    call_command("discover", apply=True)
    capsys.readouterr()
    api.put("services", objects.rest_service("orders", port=80))
    call_command("discover")
    assert "change   shop.orders" in capsys.readouterr().out


BEGUN_MS = round(BEGUN.timestamp() * 1000)
ORDERS = objects.deployment("orders", job_status={"jobId": JOB})
NEEDS_SLOTS = f"Received resource requirements from job {JOB}: [numberOfRequiredSlots=2]"
LATER = BEGUN + timedelta(minutes=7)


def lost():
    """The pod's TaskManager is lost after 100 s, as far as Flink knows by its heartbeat."""
    story = Story().submitted().deployed(1, objects.POD).checkpoint(30, 1)
    trace = f"TimeoutException: Heartbeat of TaskManager with id {objects.POD} timed out.\n"
    story.say(100, f"Heartbeat of TaskManager with id {objects.POD} timed out.")
    story.failed(100.1, f"java.util.concurrent.{trace}", taskmanager=objects.POD)
    return story.restarts(100.2).say(170, NEEDS_SLOTS)


def served(tmp_path: Path, story, *tables):
    """By a cycle over the log of the story and what the cluster's source listed."""
    lake = Lake(str(tmp_path / "lake"))
    import_recording(story.written(tmp_path / "recording"), "shop.orders", lake)
    source = Cluster.objects.get(name="shop.orders").source()
    (outcome,) = collect_shard([source], {}, lake, at=lambda: LATER)
    assert outcome.cursor["pods"]["reported"]
    return cycled(lake, tmp_path, *tables)


@pytest.mark.parametrize(
    ("killed", "cause", "said"),
    [
        pytest.param(
            {"state": terminated("OOMKilled", 137, BEGUN_MS + 58_000), "phase": "Failed"},
            "CONTAINER_OUT_OF_MEMORY",
            "memory limit 4096Mi",
            id="killed for its memory",
        ),
        pytest.param(
            {
                "state": terminated("Error", 137, BEGUN_MS + 58_000),
                "phase": "Failed",
                "reason": "Evicted",
                "message": "The node was low on resource: memory.",
            },
            "POD_EVICTED",
            "The node was low on resource: memory",
            id="evicted",
        ),
        pytest.param(
            {
                "state": terminated("Error", 137, BEGUN_MS + 58_000),
                "conditions": [
                    condition("DisruptionTarget", "True", "PreemptionByScheduler", "preempting")
                ],
            },
            "POD_EVICTED",
            "PreemptionByScheduler",
            id="preempted",
        ),
    ],
)
def test_the_end_of_a_pod_is_the_cause_of_a_lost_taskmanager_with_its_node(
    api, tmp_path, killed, cause, said
):
    api.put("flinkdeployments", ORDERS)
    api.put("pods", objects.pod(**killed))
    follow()
    findings, lives = served(tmp_path, lost(), FINDING_OCCURRENCE, TASKMANAGER_LIFE)
    finding = [one for one in findings if one["rule"] == "restart.taskmanager_lost"][-1]
    assert finding["data"]["cause"] == cause
    assert said in str(finding["cause"]) and "worker-3" in str(finding["cause"])
    [life] = [one for one in lives if one["taskmanager_id"] == objects.POD]
    assert "worker-3 2026-11-20 08:00:58 UTC" in life["detail"]


def test_a_pod_that_runs_on_is_no_cause_of_a_loss(api, tmp_path):
    api.put("flinkdeployments", ORDERS)
    running = objects.pod(state={"running": {"startedAt": objects.rfc3339(BEGUN_MS - 60_000)}})
    api.put("pods", running)
    follow()
    [findings] = served(tmp_path, lost(), FINDING_OCCURRENCE)
    finding = [one for one in findings if one["rule"] == "restart.taskmanager_lost"][-1]
    assert finding["data"]["cause"] == "UNKNOWN"


@pytest.mark.parametrize("mode", ["operator", "native"])
def test_a_job_that_waits_for_slots_says_which_pods_wait_and_why(api, tmp_path, mode):
    if mode == "operator":
        api.put("flinkdeployments", ORDERS)
    else:
        api.put("services", objects.rest_service("orders"))
    for number in (1, 2):
        since_ms = BEGUN_MS + 10_000
        api.put("pods", objects.unschedulable(f"orders-taskmanager-1-{number}", since_ms))
    follow()
    story = Story().submitted().say(360, NEEDS_SLOTS)
    findings, events = served(tmp_path, story, FINDING_OCCURRENCE, LOG_EVENT)
    assert [one["kind"] for one in events].count("pod_waiting") == 2
    finding = [one for one in findings if one["rule"] == "start.workers_lost"][-1]
    assert finding["data"]["cause"] == "POD_UNSCHEDULABLE"
    assert "Insufficient memory" in str(finding["cause"])


def test_the_page_of_a_cluster_lists_its_pods_and_one_that_is_gone_is_removed_not_healthy(
    api, viewer
):
    api.put("flinkdeployments", objects.deployment("orders"))
    api.put("pods", objects.unschedulable("orders-taskmanager-1-2"))
    runs = objects.pod()
    api.put("pods", runs)
    follow()
    (first, second) = Cluster.objects.get().source().pods
    assert (first.node, first.removed_ms, second.phase) == ("worker-3", None, "Pending")
    api.delete("pods", runs)
    follow()
    (gone, _second) = Cluster.objects.get().source().pods
    assert gone.phase == "Running" and gone.removed_ms is not None
    page = viewer.get(reverse("cluster", args=("shop.orders",))).content.decode()
    assert objects.POD in page and "worker-3" in page and "Insufficient memory" in page
    api.odd = {"/pods": status(403)}
    follow()
    assert Cluster.objects.get().source().pods == ()


REFUSED_SPEC = {"error": "spec.job.parallelism must be larger than 0"}


def open_findings(rule):
    return Finding.objects.open().filter(rule=rule).order_by("subject_id")


def test_an_error_of_the_operator_is_a_finding_until_it_is_gone(api):
    api.put("flinkdeployments", objects.deployment("orders", status=REFUSED_SPEC))
    api.put("flinkdeployments", objects.deployment("session", job=False))
    failed = objects.session_job("carts", "session", error="jar not found", lifecycleState="FAILED")
    api.put("flinksessionjobs", failed)
    follow()
    found = {row.subject_id: row.cluster for row in open_findings("operator.error")}
    assert found == {
        "FlinkDeployment shop/orders": "shop.orders",
        "FlinkSessionJob shop/carts": "shop.session",
    }
    api.put("flinkdeployments", objects.deployment("orders"))
    follow()
    assert [row.cluster for row in open_findings("operator.error")] == ["shop.session"]


def test_an_api_server_that_refuses_closes_no_finding_of_the_operator(api):
    api.put("flinkdeployments", objects.deployment("orders", status=REFUSED_SPEC))
    follow()
    api.odd = {"flinkdeployments": status(403)}
    follow()
    assert open_findings("operator.error").count() == 1


def test_savepoints_that_wait_for_their_deletion_are_a_finding_on_their_cluster(api):
    api.put("flinkdeployments", objects.deployment("orders"))
    long_ago_ms = objects.STARTED_MS
    fine = objects.state_snapshot("s3://sp/1", long_ago_ms)
    api.put("flinkstatesnapshots", fine)
    follow()
    assert not open_findings("operator.snapshot_leak")
    waits = objects.state_snapshot("s3://sp/2", long_ago_ms + 1, deleted_ms=long_ago_ms + 2)
    api.put("flinkstatesnapshots", waits)
    follow()
    (finding,) = open_findings("operator.snapshot_leak")
    assert (finding.cluster, finding.data["paths"]) == ("shop.orders", ["s3://sp/2"])


def test_savepoints_of_a_deployment_that_is_gone_are_told_on_the_pipeline_page(api, operator):
    api.put("flinkdeployments", objects.deployment("carts"))
    api.put("flinkstatesnapshots", objects.state_snapshot("s3://sp/1", objects.STARTED_MS))
    follow()
    ((note,),) = SourceReading.objects.exclude(refused=[]).values_list("refused", flat=True)
    assert note["what"] == "FlinkDeployment shop/orders"


def test_a_blue_green_pair_is_one_cluster_whose_job_goes_on_as_a_second_attempt(api):
    blue, green = (
        objects.coloured("blue"),
        objects.coloured("green", job_status={"jobId": "b" * 32}),
    )
    api.put("flinkbluegreendeployments", objects.blue_green(team="shop"))
    api.put("flinkdeployments", blue)
    api.put("services", objects.rest_service("orders-blue"))
    follow()
    api.put("flinkbluegreendeployments", objects.blue_green(state="TRANSITIONING_TO_GREEN"))
    api.put("flinkdeployments", green)
    api.put("services", objects.rest_service("orders-green"))
    follow()
    (row,) = Cluster.objects.all()
    assert (row.name, row.url) == ("shop.orders", "http://orders-blue-rest.shop:8081")
    assert [one["job_id"] for one in row.operator["jobs"]] == [objects.JOB, "b" * 32]
    api.put("flinkbluegreendeployments", objects.blue_green(state="ACTIVE_GREEN"))
    api.delete("flinkdeployments", blue)
    api.delete("services", objects.rest_service("orders-blue"))
    follow()
    (row,) = Cluster.objects.all()
    assert (row.name, row.url) == ("shop.orders", "http://orders-green-rest.shop:8081")

    now = timezone.now()
    times = {"start_time": now - timedelta(hours=2), "last_seen_at": now - timedelta(minutes=5)}
    first = job("shop.orders", at=now, name="orders", **times)
    overlapping = {"start_time": now - timedelta(minutes=9), "last_seen_at": now}
    second = job("shop.orders", at=now, name="orders", **overlapping)
    link([("shop.orders", "orders")])
    second.refresh_from_db()
    assert second.first_attempt_id == first.job_id


def test_an_aborted_transition_is_a_finding_and_the_former_colour_goes_on(api):
    error = "Aborting deployment 'orders-green', rolling B/G deployment back to ACTIVE_BLUE"
    api.put("flinkbluegreendeployments", objects.blue_green(error=error))
    api.put("flinkdeployments", objects.coloured("blue"))
    api.put("flinkdeployments", objects.coloured("green", status=objects.SUSPENDED))
    follow()
    (row,) = Cluster.objects.all()
    assert (row.url, row.operator_state) == ("http://orders-blue-rest.shop:8081", "")
    (finding,) = open_findings("operator.error")
    assert error in str(finding.cause)


def test_two_deployments_that_no_pair_owns_stay_two_clusters(api):
    for colour in ("blue", "green"):
        api.put("flinkdeployments", objects.deployment(f"orders-{colour}"))
    follow()
    assert set(visible()) == {"shop.orders-blue", "shop.orders-green"}


def test_a_change_of_one_of_200_deployments_is_followed_by_a_bounded_number_of_requests(api):
    for number in range(200):
        api.put("flinkdeployments", objects.deployment(f"job-{number:03}"))
    follow()
    assert Cluster.objects.count() == 200
    api.asked.clear()
    api.put("flinkdeployments", objects.deployment("job-007", status=objects.FAILED_DEPLOY))
    begun = monotonic()
    follow()
    assert monotonic() - begun + max(DiscoverySource("k8s").refresh_s, discovering.EVERY_S) < 60
    assert Cluster.objects.get(operator_state="broken").name == "shop.job-007"
    assert [row.cluster for row in open_findings("operator.error")] == ["shop.job-007"]
    assert len(api.asked) <= 2 * len(reading.RESOURCES), "a request for each deployment"


VERTEX = "c" * 32
SCALED = (
    "Scaling execution enabled, begin scaling vertices:"
    f"{{ Vertex ID {VERTEX} | Parallelism 2 -> 4 | Processing capacity 100.00 -> 200.00 | "
    "Target data rate 150.00}"
)
DID_NOT_HELP = (
    f"Ineffective scaling detected for {VERTEX} (expected increase: 100.0, actual increase 2.0). "
    "Blocking of ineffective scaling decisions is disabled"
)


def test_a_scaling_that_did_not_help_goes_from_the_api_server_to_the_page_of_its_job(
    api, tmp_path, viewer
):
    api.put("flinkdeployments", ORDERS)
    api.put("pods", objects.pod(state={"running": {"startedAt": objects.rfc3339(BEGUN_MS)}}))
    for reason, text, after_ms in (
        ("ScalingReport", SCALED, 95_000),
        ("IneffectiveScaling", DID_NOT_HELP, 300_000),
    ):
        api.put("events", objects.event(reason, text, BEGUN_MS + after_ms))
    follow()
    findings, marks = served(tmp_path, lost(), FINDING_OCCURRENCE, JOB_ANNOTATION)
    finding = [one for one in findings if one["rule"] == "scaling.ineffective"][-1]
    assert (finding["subject_id"], finding["data"]["to"]) == (VERTEX, 4)
    job("shop.orders", at=LATER, job_id=JOB)
    columns = ("cluster", "job_id", "kind", "subject", "at", "label", "detail", "as_of")
    JobAnnotation.objects.bulk_create(
        JobAnnotation(**{name: mark[name] for name in columns}) for mark in marks
    )
    page = f"/api/v1/jobs/shop.orders/{JOB}/analyses/scalings/"
    shown = viewer.get(page, {"from": BEGUN.isoformat(), "to": LATER.isoformat()}).json()
    assert VERTEX in json.dumps(shown)

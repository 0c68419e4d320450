"""Pods of a cluster, as an API server lists them: what runs, ended, waits, or is gone."""

import asyncio
from dataclasses import asdict, replace

import pytest

from ingest.discovery.kubernetes import reading
from ingest.discovery.kubernetes.pods import pod as read
from ingest.discovery.pods import MAX_PODS, REMOVED_KEPT_MS, Pod, pods_of, with_removed
from ingest.discovery.sources import KubernetesSource
from tests import kubernetes_objects as objects
from tests.kubernetes_api import KubernetesApi, status
from tests.kubernetes_objects import STARTED_MS, condition, terminated

ENDED_MS = STARTED_MS + 600_000
NODE_GONE = "PodGC: node no longer exists"
LOW = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 57080Ki."


@pytest.fixture
def api(tmp_path):
    reading._listed.clear()
    server = KubernetesApi(tmp_path)
    yield server
    server.stop()


def listed(api, **source):
    return asyncio.run(
        reading.read_kubernetes("k8s", KubernetesSource(kubeconfig=api.kubeconfig(), **source))
    )


def fact(found):
    return read(found)["pod"]


def disrupted(by, words, **more):
    return objects.pod(
        conditions=[condition("DisruptionTarget", "True", by, words, ENDED_MS)], **more
    )


def test_a_pod_that_runs_has_its_node_its_address_and_the_restarts_of_flinks_own_container():
    assert fact(objects.pod(restarts=2)) == Pod(
        objects.POD,
        "taskmanager",
        phase="Running",
        node="worker-3",
        address="10.244.1.5",
        restarts=2,
        created_ms=STARTED_MS,
        started_ms=STARTED_MS,
    )


@pytest.mark.parametrize(
    ("found", "ended", "at_ms"),
    [
        pytest.param(
            objects.pod(state=terminated("OOMKilled", 137, ENDED_MS), phase="Failed"),
            "exitCode=137, reason=OOMKilled, memory limit 4096Mi",
            ENDED_MS,
            id="killed for its memory",
        ),
        pytest.param(
            objects.pod(last=terminated("OOMKilled", 137, ENDED_MS), mode="standalone"),
            "exitCode=137, reason=OOMKilled, memory limit 4096Mi",
            ENDED_MS,
            id="started again since",
        ),
        pytest.param(
            objects.pod(state=terminated("OOMKilled", 137, ENDED_MS), deleted_ms=ENDED_MS + 30_000),
            "exitCode=137, reason=OOMKilled, memory limit 4096Mi",
            ENDED_MS,
            id="deleted by Flink since",
        ),
        pytest.param(
            objects.pod(state=terminated("Error", 239, ENDED_MS), phase="Failed"),
            "exitCode=239, reason=Error",
            ENDED_MS,
            id="exit code",
        ),
        pytest.param(
            disrupted(
                "TerminationByKubelet",
                LOW,
                state=terminated("Error", 137, ENDED_MS),
                phase="Failed",
                reason="Evicted",
                message=LOW,
            ),
            f"reason=Evicted: {LOW}",
            ENDED_MS,
            id="evicted",
        ),
        pytest.param(
            disrupted("DeletionByPodGC", NODE_GONE, state=terminated("Error", 137, ENDED_MS)),
            f"DisruptionTarget, reason=DeletionByPodGC: {NODE_GONE}",
            ENDED_MS,
            id="node gone",
        ),
        pytest.param(
            disrupted("PreemptionByScheduler", "preempting", deleted_ms=ENDED_MS + 30_000),
            "DisruptionTarget, reason=PreemptionByScheduler: preempting",
            None,
            id="preempted, and still running",
        ),
        pytest.param(
            objects.pod(
                state=terminated("Error", 143, ENDED_MS), deleted_ms=ENDED_MS, phase="Running"
            ),
            "",
            None,
            id="deleted in order",
        ),
        pytest.param(
            objects.pod(state=terminated("Completed", 0, ENDED_MS), phase="Succeeded"),
            "",
            None,
            id="ended in order",
        ),
        pytest.param(
            objects.pod(conditions=[condition("DisruptionTarget", "False", "x")]),
            "",
            None,
            id="spared",
        ),
    ],
)
def test_how_its_container_ended_is_told_unless_in_order(found, ended, at_ms):
    assert (fact(found).ended, fact(found).ended_ms) == (ended, at_ms)


def waiting(reason, message=None, **more):
    return {"waiting": {"reason": reason} | ({"message": message} if message else {})} | more


@pytest.mark.parametrize(
    ("found", "waits", "since_ms"),
    [
        pytest.param(
            objects.unschedulable(since_ms=ENDED_MS),
            f"Unschedulable: {objects.UNSCHEDULABLE}",
            ENDED_MS,
            id="no node",
        ),
        pytest.param(
            objects.pod(state=waiting("ErrImagePull", "not found"), phase="Pending"),
            "ErrImagePull: not found",
            STARTED_MS - 5_000,
            id="no image",
        ),
        pytest.param(
            objects.pod(
                state=waiting("CrashLoopBackOff", "back-off 5m0s"),
                last=terminated("Error", 1, ENDED_MS),
            ),
            "CrashLoopBackOff: back-off 5m0s",
            ENDED_MS,
            id="ends again and again",
        ),
        pytest.param(
            objects.pod(
                state=waiting("PodInitializing"),
                initContainerStatuses=[
                    {"name": "fetch", "state": waiting("CreateContainerConfigError", "no secret")}
                ],
            ),
            "CreateContainerConfigError: no secret",
            STARTED_MS - 5_000,
            id="an init container",
        ),
        pytest.param(objects.pod(state=waiting("ContainerCreating")), "", None, id="starts"),
        pytest.param(
            objects.unschedulable(deleted_ms=ENDED_MS), "", None, id="not wanted any more"
        ),
    ],
)
def test_why_it_waits_is_told_where_it_is_stuck(found, waits, since_ms):
    assert (fact(found).waits, fact(found).waits_since_ms) == (waits, since_ms)


def test_pods_belong_to_their_cluster_and_to_its_only_job_over_all_pages_of_the_list(api):
    api.page = 2
    api.put("flinkdeployments", objects.deployment("orders"))
    api.put("services", objects.rest_service("bills", "money"))
    for number in range(5):
        api.put("pods", objects.pod(f"orders-taskmanager-1-{number}"))
    api.put("pods", objects.pod("bills-1", of="bills", namespace="money"))
    api.put("pods", objects.pod("orders-5d8", component="jobmanager"))
    api.put("pods", objects.pod("stranger-1", mode="other"))
    found, _notes = listed(api)
    pods = {target.labels["cluster"]: target.pods for target in found}
    assert [one.name for one in pods["shop.orders"]] == [
        "orders-5d8",
        *(f"orders-taskmanager-1-{number}" for number in range(5)),
    ]
    assert {one.job_id for one in pods["shop.orders"]} == {objects.JOB}
    assert [(one.name, one.job_id) for one in pods["money.bills"]] == [("bills-1", "")]
    assert "canary" not in str(found)


@pytest.mark.parametrize("answer", [status(403), status(500), b"HTTP/1.1 200 OK\r\n\r\n{"])
def test_pods_that_cannot_be_listed_are_unknown_and_hide_no_cluster(api, answer):
    api.put("flinkdeployments", objects.deployment("orders"))
    api.put("pods", objects.pod())
    api.odd = {"/pods": answer}
    ((target,), notes) = listed(api)
    assert target.pods is None
    assert [note.what for note in notes] == ["/api/v1/pods"]


def test_a_pod_that_is_no_longer_listed_is_removed_for_an_hour_and_never_runs():
    seen, other = Pod("a", "taskmanager", phase="Running", waits="x"), Pod("b", "taskmanager")
    first = with_removed((), (seen, other), 1_000)
    assert first == (seen, other)
    gone = with_removed(first, (other,), 2_000)
    assert gone == (replace(seen, removed_ms=2_000, waits=""), other)
    assert with_removed(gone, (other,), 2_000 + REMOVED_KEPT_MS - 1) == gone
    assert with_removed(gone, (other,), 2_000 + REMOVED_KEPT_MS) == (other,)
    assert with_removed(gone, (seen, other), 3_000) == (seen, other)


def test_of_very_many_pods_those_with_trouble_are_kept_and_none_of_the_others_is_removed():
    many = [Pod(f"p{number:04}", "taskmanager") for number in range(MAX_PODS + 9)]
    many[-1] = replace(many[-1], waits="Unschedulable")
    kept = with_removed((), many, 1_000)
    assert len(kept) == MAX_PODS and kept[-1] == many[-1]
    assert with_removed(kept, many, 2_000) == kept


def test_what_a_database_held_is_read_again_and_what_is_none_is_left_out():
    held = fact(objects.pod())
    assert pods_of([asdict(held) | {"of_a_later_release": 1}, 7, {}]) == (held,)
    assert pods_of({}) == ()

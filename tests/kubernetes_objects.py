"""Objects as API servers give them, by the published schemas: flink.apache.org/v1beta1 of the Flink
Kubernetes Operator, and core/v1.

Written by hand from the CustomResourceDefinitions and from Flink's source; none was recorded from a
real API server.
"""

import json
from datetime import UTC, datetime

JOB, OTHER_JOB = "a" * 32, "b" * 32
STARTED_MS = 1_750_000_000_000


def rfc3339(at_ms):
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def metadata(name, namespace, **labels):
    return {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "creationTimestamp": "2025-06-15T15:06:40Z",
        "generation": 3,
        "labels": labels,
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": json.dumps(
                {"kind": "x", "password": "canary-secret"}
            )
        },
        "finalizers": ["flinkdeployments.flink.apache.org/finalizer"],
        "managedFields": [
            {
                "manager": "kubectl-client-side-apply",
                "operation": "Update",
                "fieldsV1": {"f:spec": {".": {}}},
            }
        ],
    }


def deployment(
    name="orders",
    namespace="shop",
    *,
    job=True,
    status=None,
    job_status=None,
    spec=None,
    port=None,
    **labels,
):
    """An application that runs, unless ``status`` says otherwise; ``job`` False is a session
    cluster.
    """
    configuration = {"taskmanager.numberOfTaskSlots": "2"} | (
        {"rest.port": str(port)} if port else {}
    )
    said = {
        "clusterInfo": {
            "flink-revision": "a5d4a6a @ 2024-10-10",
            "flink-version": "1.20.0",
            "total-cpu": "2.0",
            "total-memory": "4294967296",
        },
        "error": "",
        "jobManagerDeploymentStatus": "READY",
        "jobStatus": job_of("RUNNING", JOB) | (job_status or {})
        if job
        else {"state": "", "checkpointInfo": {}, "savepointInfo": {}},
        "lifecycleState": "STABLE",
        "observedGeneration": 3,
        "reconciliationStatus": {
            "lastReconciledSpec": json.dumps(
                {"spec": {"job": {"state": "running"}}, "resource_metadata": {"generation": 3}}
            ),
            "reconciliationTimestamp": STARTED_MS - 30_000,
            "state": "DEPLOYED",
        },
        "taskManager": {"labelSelector": f"component=taskmanager,app={name}", "replicas": 1},
    }
    wanted = {
        "image": "flink:1.20",
        "flinkVersion": "v1_20",
        "flinkConfiguration": configuration,
        "serviceAccount": "flink",
        "mode": "native",
        "jobManager": {"replicas": 1, "resource": {"cpu": 1, "memory": "2048m"}},
        "taskManager": {"resource": {"cpu": 1, "memory": "2048m"}},
    }
    if job:
        wanted["job"] = {
            "jarURI": "local:///opt/flink/job.jar",
            "parallelism": 2,
            "state": "running",
            "upgradeMode": "savepoint",
            "args": [],
        }
    return {
        "apiVersion": "flink.apache.org/v1beta1",
        "kind": "FlinkDeployment",
        "metadata": metadata(name, namespace, **labels),
        "spec": wanted | (spec or {}),
        "status": said | (status or {}),
    }


def job_of(state, job_id):
    return {
        "checkpointInfo": {"lastPeriodicCheckpointTimestamp": 0},
        "jobId": job_id,
        "jobName": "orders pipeline",
        "savepointInfo": {"lastPeriodicSavepointTimestamp": 0, "savepointHistory": []},
        "startTime": str(STARTED_MS),
        "state": state,
        "updateTime": str(STARTED_MS + 5_000),
    }


FAILED_DEPLOY = {
    "error": json.dumps(
        {
            "type": "org.apache.flink.kubernetes.operator.exception.DeploymentFailedException",
            "message": (
                "back-off 5m0s restarting failed container=flink-main-container "
                "pod=orders-5d8 (CrashLoopBackOff)"
            ),
            "additionalMetadata": {"reason": "CrashLoopBackOff"},
            "throwableList": [],
        }
    ),
    "jobManagerDeploymentStatus": "ERROR",
    "lifecycleState": "FAILED",
}
SUSPENDED = {"jobManagerDeploymentStatus": "MISSING", "lifecycleState": "SUSPENDED"}


def session_job(name, on, namespace="shop", **status):
    return {
        "apiVersion": "flink.apache.org/v1beta1",
        "kind": "FlinkSessionJob",
        "metadata": metadata(name, namespace),
        "spec": {
            "deploymentName": on,
            "job": {
                "jarURI": "https://repo.example/job.jar",
                "parallelism": 1,
                "upgradeMode": "stateless",
            },
        },
        "status": {
            "error": "",
            "jobStatus": job_of("RUNNING", OTHER_JOB) | {"jobName": name},
            "lifecycleState": "STABLE",
            "observedGeneration": 1,
            "reconciliationStatus": {
                "reconciliationTimestamp": STARTED_MS,
                "state": "DEPLOYED",
                "lastReconciledSpec": "{}",
            },
        }
        | status,
    }


def rest_service(cluster_id="orders", namespace="shop", port=8081, **labels):
    """As Flink's native mode makes it: ``component`` is in its selector alone."""
    own = {"type": "flink-native-kubernetes", "app": cluster_id}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(f"{cluster_id}-rest", namespace, **own, **labels),
        "spec": {
            "clusterIP": "10.96.4.7",
            "ports": [{"name": "rest", "port": port, "protocol": "TCP", "targetPort": 8081}],
            "selector": own | {"component": "jobmanager"},
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    }


def leader_map(url, cluster_id="orders", namespace="shop", *, before_1_15=False):
    """Of Kubernetes HA: one for all leaders since 1.15, one for each component before."""
    own = {
        "app": cluster_id,
        "configmap-type": "high-availability",
        "type": "flink-native-kubernetes",
    }
    session = "0f8e6a8e-2c9b-4a4e-9d6a-3a2f1f0d5c11"
    if before_1_15:
        name = f"{cluster_id}-restserver-leader"
        data = {"address": url, "sessionId": session} if url else {}
    else:
        name = f"{cluster_id}-cluster-config-map"
        data = {
            "org.apache.flink.k8s.leader.dispatcher": f"{session},pekko.tcp://flink@10.0.0.1:6123"
        }
        data |= {"org.apache.flink.k8s.leader.restserver": f"{session},{url}"} if url else {}
    held = json.dumps(
        {
            "holderIdentity": "x",
            "leaseDuration": 15.0,
            "renewTime": "2025-06-15T15:06:40.0Z",
            "leaderTransitions": 1,
        }
    )
    found = metadata(name, namespace, **own)
    found["annotations"] = {"control-plane.alpha.kubernetes.io/leader": held}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": found, "data": data}


def event(
    reason, message, at_ms, of="orders", namespace="shop", kind="FlinkDeployment", type_="Normal"
):
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata(f"{kind.lower()}-{of}-{reason.lower()}-{at_ms}", namespace),
        "involvedObject": {
            "apiVersion": "flink.apache.org/v1beta1",
            "kind": kind,
            "name": of,
            "namespace": namespace,
            "uid": "u",
        },
        "reason": reason,
        "message": message,
        "type": type_,
        "count": 1,
        "firstTimestamp": rfc3339(at_ms),
        "lastTimestamp": rfc3339(at_ms),
        "eventTime": None,
        "reportingComponent": "",
        "source": {"component": "Operator"},
    }


UPGRADE = (
    "UPGRADE change(s) detected (Diff: FlinkDeploymentSpec[image : flink:1.19 -> "
    "flink:1.20]), starting reconciliation."
)


def state_snapshot(
    path,
    at_ms,
    of="orders",
    namespace="shop",
    trigger="UPGRADE",
    state="COMPLETED",
    error=None,
    failures=0,
    deleted_ms=None,
):
    own = {"snapshot.state": state, "snapshot.trigger-type": trigger, "snapshot.type": "SAVEPOINT"}
    return {
        "apiVersion": "flink.apache.org/v1beta1",
        "kind": "FlinkStateSnapshot",
        "metadata": metadata(f"{of}-upgrade-{at_ms}", namespace)
        | {"labels": own}
        | ({"deletionTimestamp": rfc3339(deleted_ms)} if deleted_ms else {}),
        "spec": {
            "backoffLimit": 0,
            "jobReference": {"kind": "FlinkDeployment", "name": of},
            "savepoint": {"formatType": "CANONICAL"},
        },
        "status": {
            "state": state,
            "path": path,
            "resultTimestamp": rfc3339(at_ms),
            "triggerId": "t",
            "failures": failures,
            "error": error,
        },
    }


POD = "orders-taskmanager-1-1"
LIMIT = {"limits": {"cpu": "1", "memory": "4096Mi"}, "requests": {"cpu": "1", "memory": "4096Mi"}}


def pod(
    name=POD,
    of="orders",
    namespace="shop",
    *,
    component="taskmanager",
    mode="native",
    state=None,
    last=None,
    restarts=0,
    conditions=(),
    deleted_ms=None,
    **status,
):
    """A pod that runs, unless ``state`` of its container or ``status`` says otherwise."""
    own = {"type": f"flink-{mode}-kubernetes", "app": of, "component": component}
    found = metadata(name, namespace, **own)
    if deleted_ms is not None:
        found |= {"deletionTimestamp": rfc3339(deleted_ms), "deletionGracePeriodSeconds": 30}
    container = {
        "name": "flink-main-container",
        "image": "flink:1.20",
        "imageID": "sha256:1",
        "ready": state is None,
        "restartCount": restarts,
        "state": {"running": {"startedAt": rfc3339(STARTED_MS)}} if state is None else state,
        "lastState": last or {},
    }
    side = {"name": "side-car", "restartCount": 7, "state": {"running": {}}, "lastState": {}}
    said = {
        "phase": "Running",
        "podIP": "10.244.1.5",
        "hostIP": "10.0.0.3",
        "qosClass": "Guaranteed",
        "startTime": rfc3339(STARTED_MS - 5_000),
        "conditions": [
            condition("PodScheduled", "True", at_ms=STARTED_MS - 5_000),
            condition("Ready", "True" if state is None else "False"),
            *conditions,
        ],
        "containerStatuses": [side, container],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": found,
        "spec": {
            "nodeName": "worker-3",
            "restartPolicy": "Never" if mode == "native" else "Always",
            "containers": [
                {"name": "side-car", "image": "x", "resources": {}},
                {
                    "name": "flink-main-container",
                    "image": "flink:1.20",
                    "env": [{"name": "PASSWORD", "value": "canary-secret"}],
                    "resources": LIMIT,
                },
            ],
        },
        "status": said | status,
    }


def condition(kind, status, reason=None, message=None, at_ms=STARTED_MS):
    told = {"reason": reason, "message": message}
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": rfc3339(at_ms),
    } | {name: text for name, text in told.items() if text}


def terminated(reason, code, at_ms):
    ended = {"reason": reason, "exitCode": code, "finishedAt": rfc3339(at_ms)}
    return {"terminated": ended | {"startedAt": rfc3339(STARTED_MS), "containerID": "x"}}


UNSCHEDULABLE = "0/3 nodes are available: 3 Insufficient memory. preemption: not helpful."


def unschedulable(name=POD, since_ms=STARTED_MS, **more):
    waits = condition("PodScheduled", "False", "Unschedulable", UNSCHEDULABLE, since_ms)
    found = pod(name, phase="Pending", **more)
    found["status"] |= {"conditions": [waits], "containerStatuses": [], "podIP": ""}
    found["spec"]["nodeName"] = ""
    return found


def blue_green(name="orders", namespace="shop", state="ACTIVE_BLUE", error=None, **labels):
    return {
        "apiVersion": "flink.apache.org/v1beta1",
        "kind": "FlinkBlueGreenDeployment",
        "metadata": metadata(name, namespace, **labels),
        "spec": {"configuration": {}, "template": {"spec": {"flinkVersion": "v1_20"}}},
        "status": {
            "abortTimestamp": "1970-01-01T00:00:00Z",
            "blueGreenState": state,
            "deploymentReadyTimestamp": "1970-01-01T00:00:00Z",
            "error": error,
            "jobStatus": {"state": "FAILING" if error else "RUNNING"},
            "lastReconciledTimestamp": rfc3339(STARTED_MS),
        },
    }


def coloured(colour, name="orders", namespace="shop", **more):
    """The deployment of a blue/green pair."""
    found = deployment(f"{name}-{colour}", namespace, **more)
    found["metadata"]["labels"]["flink/blue-green-deployment-type"] = colour.upper()
    found["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "flink.apache.org/v1beta1",
            "kind": "FlinkBlueGreenDeployment",
            "name": name,
            "uid": f"uid-{namespace}-{name}",
            "controller": True,
        }
    ]
    return found

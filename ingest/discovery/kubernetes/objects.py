"""Summaries of objects of an API server; None for an object that Weir does not read. Fields are
those of the CustomResourceDefinitions of the Flink Kubernetes Operator
(``flink.apache.org/v1beta1``) and of core/v1. Missing fields are "" or None.
"""

import re
from datetime import UTC, datetime
from typing import Any

from ingest import json_bounds
from ingest.discovery.target_groups import MAX_VALUE
from ingest.flink_ids import is_flink_id
from ingest.json_members import as_list, as_object, member, object_list
from ingest.redaction.texts import redact

REST_PORT = 8081
MAX_LABELS = 64
MESSAGE_CHARS = 1_000
EVENT_CHARS = 2_000
"""A ``ScalingReport`` takes 150 for each vertex."""
STANDALONE, NATIVE = "flink-standalone-kubernetes", "flink-native-kubernetes"
LEADER = "org.apache.flink.k8s.leader.restserver"
"""Key of the ConfigMap ``<cluster id>-cluster-config-map`` (1.15+), with the value
``<session id>,<address>``.
"""

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_EARLIEST_MS, _LATEST_MS = 1_262_304_000_000, 7_258_118_400_000


def deployment(resource: dict[str, Any]) -> dict[str, Any] | None:
    summary = _resource(resource, "FlinkDeployment")
    if summary is None:
        return None
    return summary | {
        "job_manager": _word(part(resource, "status"), "jobManagerDeploymentStatus"),
        "port": _configured_port(part(part(resource, "spec"), "flinkConfiguration")),
        "blue_green": _owner_of(resource, "FlinkBlueGreenDeployment"),
        "colour": summary["labels"].get("flink/blue-green-deployment-type", ""),
    }


def blue_green(resource: dict[str, Any]) -> dict[str, Any] | None:
    """A ``FlinkBlueGreenDeployment``, which owns at most two ``FlinkDeployment``."""
    summary, status = name_and_namespace(resource), part(resource, "status")
    if summary is None:
        return None
    state = _word(status, "blueGreenState")
    return summary | {"state": state, "error": _error(status.get("error"))}


def _owner_of(resource: dict[str, Any], kind: str) -> str:
    owners = object_list(part(resource, "metadata"), "ownerReferences")[:50]
    return next((text_of(owner.get("name")) for owner in owners if owner.get("kind") == kind), "")


def session_job(resource: dict[str, Any]) -> dict[str, Any] | None:
    summary = _resource(resource, "FlinkSessionJob")
    if summary is None:
        return None
    return summary | {"deployment": text_of(part(resource, "spec").get("deploymentName"))}


def _resource(resource: dict[str, Any], kind: str) -> dict[str, Any] | None:
    summary = name_and_namespace(resource)
    if summary is None:
        return None
    spec, status = part(resource, "spec"), part(resource, "status")
    job = part(status, "jobStatus")
    reconciled = part(status, "reconciliationStatus")
    job_spec = part(spec, "job")
    job_id = text_of(job.get("jobId"))
    return summary | {
        "kind": kind,
        "lifecycle": _word(status, "lifecycleState"),
        "reconciliation": _word(reconciled, "state"),
        "reconciled_at_ms": instant_ms(reconciled.get("reconciliationTimestamp")),
        "generation": number_of(part(resource, "metadata").get("generation")),
        "observed_generation": number_of(status.get("observedGeneration")),
        "error": _error(status.get("error")),
        "has_job": bool(job_spec),
        "wanted": _word(job_spec, "state"),
        "job_name": text_of(job.get("jobName"))[:MAX_VALUE],
        "job_id": job_id if is_flink_id(job_id) else "",
        "job_state": _word(job, "state"),
        "started_at_ms": instant_ms(job.get("startTime")),
        "savepoint": _savepoint(part(part(job, "savepointInfo"), "lastSavepoint")),
    }


def _savepoint(resource: dict[str, Any]) -> dict[str, Any] | None:
    at_ms = instant_ms(resource.get("timeStamp"))
    if at_ms is None:
        return None
    return {
        "at_ms": at_ms,
        "path": text_of(resource.get("location"))[:MESSAGE_CHARS],
        "trigger": _word(resource, "triggerType"),
        "error": "",
    }


def snapshot(resource: dict[str, Any]) -> dict[str, Any] | None:
    """A ``FlinkStateSnapshot`` (1.10+). ``of``: kind and name of its resource. ``at_ms``: when a
    savepoint ended, None for others.
    """
    summary = name_and_namespace(resource)
    spec, status = part(resource, "spec"), part(resource, "status")
    state = _word(status, "state")
    if summary is None:
        return None
    is_savepoint, reference = isinstance(spec.get("savepoint"), dict), part(spec, "jobReference")
    has_ended = is_savepoint and state in ("COMPLETED", "FAILED", "ABANDONED")
    trigger = text_of(summary["labels"].get("snapshot.trigger-type")) or "MANUAL"
    return {
        "namespace": summary["namespace"],
        "name": summary["name"],
        "of": (text_of(reference.get("kind")), text_of(reference.get("name"))),
        "at_ms": instant_ms(status.get("resultTimestamp")) if has_ended else None,
        "is_savepoint": is_savepoint,
        "state": state,
        "failures": number_of(status.get("failures")),
        "deleted_at_ms": instant_ms(part(resource, "metadata").get("deletionTimestamp")),
        "path": text_of(status.get("path"))[:MESSAGE_CHARS],
        "trigger": trigger[:40],
        "error": "" if state == "COMPLETED" else one_line(status.get("error")) or state.lower(),
    }


def rest_service(resource: dict[str, Any]) -> dict[str, Any] | None:
    summary, spec = name_and_namespace(resource), part(resource, "spec")
    if summary is None:
        return None
    labels, selector = summary["labels"], part(spec, "selector")
    cluster_id = text_of(labels.get("app"))
    if labels.get("type") not in (NATIVE, STANDALONE) or summary["name"] != f"{cluster_id}-rest":
        return None
    if selector.get("component", "jobmanager") != "jobmanager":
        return None
    port_of_name = {
        text_of(port_spec.get("name")): port
        for port_spec in as_list(spec.get("ports"))[:50]
        if (port := _port(port_spec.get("port")))
    }
    port = port_of_name.get("rest") or (
        next(iter(port_of_name.values())) if len(port_of_name) == 1 else None
    )
    return summary | {"cluster_id": cluster_id, "port": port or REST_PORT}


def leader(resource: dict[str, Any]) -> dict[str, Any] | None:
    """The REST address of the leading JobManager, "" without a leader, from a ConfigMap of Flink's
    high availability. Since 1.15, one ConfigMap has all leaders of a cluster. Before, and with
    ``high-availability.use-old-ha-services``, ``<cluster id>-restserver-leader`` has the key
    ``address``.
    """
    summary = name_and_namespace(resource)
    data = part(resource, "data")
    if summary is None or summary["labels"].get("configmap-type") != "high-availability":
        return None
    name = summary["name"]
    if name.endswith("-cluster-config-map"):
        cluster_id = name.removesuffix("-cluster-config-map")
        url = text_of(data.get(LEADER)).partition(",")[2]
    elif name.endswith("-restserver-leader"):
        cluster_id = name.removesuffix("-restserver-leader")
        url = text_of(data.get("address"))
    else:
        return None
    return summary | {"cluster_id": cluster_id, "url": url[:MAX_VALUE]}


def event(resource: dict[str, Any]) -> dict[str, Any] | None:
    summary, reference = name_and_namespace(resource), part(resource, "involvedObject")
    at_ms = instant_ms(
        resource.get("lastTimestamp") or resource.get("eventTime") or resource.get("firstTimestamp")
    )
    group = text_of(reference.get("apiVersion"))
    if summary is None or at_ms is None or not group.startswith("flink.apache.org/"):
        return None
    return {
        "namespace": text_of(reference.get("namespace")) or summary["namespace"],
        "of": (text_of(reference.get("kind")), text_of(reference.get("name"))),
        "at_ms": at_ms,
        "reason": letters_of(resource.get("reason")),
        "is_warning": resource.get("type") == "Warning",
        "message": one_line(resource.get("message"), EVENT_CHARS),
    }


def letters_of(value: Any) -> str:
    """A reason or phase: letters and digits."""
    return re.sub(r"[^A-Za-z0-9]", "", text_of(value))[:60]


def one_line(text: Any, chars: int = MESSAGE_CHARS) -> str:
    return redact(_UNPRINTABLE.sub("", " ".join(text_of(text).split()))[:chars])


def instant_ms(value: Any) -> int | None:
    """Epoch milliseconds, as a number or a text, or RFC 3339; None outside 2010 to 2200."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        value = int(value)
    if isinstance(value, str):
        try:
            at = datetime.fromisoformat(value[:40])
            value = round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
        except (ValueError, OverflowError):
            return None
    if type(value) is not int:
        return None
    return value if _EARLIEST_MS <= value < _LATEST_MS else None


def name_and_namespace(resource: dict[str, Any]) -> dict[str, Any] | None:
    metadata = part(resource, "metadata")
    name, namespace = text_of(metadata.get("name")), text_of(metadata.get("namespace"))
    if not _NAME.fullmatch(name) or not _NAME.fullmatch(namespace):
        return None
    labels = {
        key: text
        for key, text in list(part(metadata, "labels").items())[:MAX_LABELS]
        if isinstance(text, str) and len(text) <= 63
    }
    return {"name": name, "namespace": namespace, "labels": labels}


def _error(value: Any) -> str:
    text = text_of(value)
    if text.startswith("{"):
        try:
            document = json_bounds.decoded(text.encode(errors="replace"), 10_000)[0]
            text = text_of(document.get("message")) or text_of(document.get("type")) or text
        except (ValueError, RecursionError, AttributeError):
            pass
    return one_line(text)


def _configured_port(configuration: dict[str, Any]) -> int:
    port = configuration.get("rest.port", member(configuration.get("rest"), "port"))
    if isinstance(port, str) and port.isascii() and port.isdigit() and len(port) < 6:
        port = int(port)
    return _port(port) or REST_PORT


def _port(value: Any) -> int | None:
    number = number_of(value)
    return number if number and number < 65_536 else None


def number_of(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**53 else None


def _word(parent: dict[str, Any], key: str) -> str:
    text = text_of(parent.get(key)).upper()
    return text if re.fullmatch(r"[A-Z][A-Z0-9_-]{0,39}", text) else ""


def part(parent: dict[str, Any], key: str) -> dict[str, Any]:
    return as_object(parent.get(key))


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""

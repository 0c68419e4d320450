"""Summaries of pods that Flink's native mode and the operator's standalone mode make, by the fields
of core/v1 (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/).
"""

import re
from typing import Any

from ingest.discovery.kubernetes.objects import (
    MESSAGE_CHARS,
    NATIVE,
    STANDALONE,
    instant_ms,
    letters_of,
    name_and_namespace,
    number_of,
    one_line,
    part,
    text_of,
)
from ingest.discovery.pods import Pod
from ingest.json_members import as_list, as_object

MAIN_CONTAINER = "flink-main-container"
MAX_CONTAINERS = 50
WAITS = frozenset(
    {
        *("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"),
        *("CrashLoopBackOff", "RunContainerError"),
        *("CreateContainerConfigError", "CreateContainerError"),
    }
)
"""Reasons of a waiting container that is stuck; ContainerCreating and PodInitializing pass."""
_QUANTITY = re.compile(r"[0-9.]{1,20}[A-Za-z]{0,2}")


def pod(resource: dict[str, Any]) -> dict[str, Any] | None:
    summary = name_and_namespace(resource)
    if summary is None:
        return None
    labels = summary["labels"]
    component = labels.get("component", "")
    if labels.get("type") not in (NATIVE, STANDALONE) or component not in (
        "jobmanager",
        "taskmanager",
    ):
        return None
    metadata, spec = part(resource, "metadata"), part(resource, "spec")
    status = part(resource, "status")
    main = _main(as_list(status.get("containerStatuses")))
    is_deleted = bool(metadata.get("deletionTimestamp"))
    created_ms = instant_ms(metadata.get("creationTimestamp"))
    waits, waits_since_ms = ("", None) if is_deleted else _wait(status)
    ended, ended_ms = _end(status, main, is_deleted, _memory_limit(spec))
    return {
        "namespace": summary["namespace"],
        "cluster_id": labels.get("app", ""),
        "pod": Pod(
            name=summary["name"],
            component=component,
            phase="Terminating" if is_deleted else letters_of(status.get("phase")),
            node=text_of(spec.get("nodeName"))[:253],
            address=text_of(status.get("podIP"))[:45],
            restarts=number_of(main.get("restartCount")),
            created_ms=created_ms,
            started_ms=instant_ms(part(part(main, "state"), "running").get("startedAt")),
            waits=waits,
            waits_since_ms=(waits_since_ms or created_ms) if waits else None,
            ended=ended,
            ended_ms=ended_ms,
        ),
    }


def _wait(status: dict[str, Any]) -> tuple[str, int | None]:
    """Why the pod waits, and since when, which containers do not report."""
    scheduled = _condition(status, "PodScheduled")
    scheduled_ms = instant_ms(scheduled.get("lastTransitionTime"))
    if scheduled.get("status") == "False":
        return _reason(scheduled), scheduled_ms
    for name in ("initContainerStatuses", "containerStatuses"):
        for container in map(as_object, as_list(status.get(name))[:MAX_CONTAINERS]):
            waiting = part(part(container, "state"), "waiting")
            if waiting.get("reason") in WAITS:
                terminated = part(part(container, "lastState"), "terminated")
                return _reason(waiting), instant_ms(terminated.get("finishedAt")) or scheduled_ms
    return "", None


def _end(
    status: dict[str, Any], main: dict[str, Any], is_deleted: bool, memory_limit: str
) -> tuple[str, int | None]:
    """How the newest container ended, in the words of Flink's own log, and when; None while a
    disrupted one still runs. A deleted pod ends in order, unless it was killed for its memory or
    disrupted
    (https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions).
    """
    disruption = _condition(status, "DisruptionTarget")
    is_disrupted = disruption.get("status") == "True"
    terminated = part(part(main, "state"), "terminated") or (
        {} if is_disrupted else part(part(main, "lastState"), "terminated")
    )
    code = number_of(terminated.get("exitCode"))
    at_ms = instant_ms(terminated.get("finishedAt"))
    if terminated.get("reason") == "OOMKilled":
        limit = f", memory limit {memory_limit}" if memory_limit else ""
        return f"exitCode={code}, reason=OOMKilled{limit}", at_ms
    if letters_of(status.get("reason")):
        unready = _condition(status, "Ready")
        return f"reason={_reason(status)}", at_ms or instant_ms(unready.get("lastTransitionTime"))
    if is_disrupted:
        return f"DisruptionTarget, reason={_reason(disruption)}", at_ms
    if is_deleted or not code:
        return "", None
    return f"exitCode={code}, reason={letters_of(terminated.get('reason')) or 'unknown'}", at_ms


def _main(containers: list[Any]) -> dict[str, Any]:
    statuses = [as_object(container) for container in containers[:MAX_CONTAINERS]]
    named = (status for status in statuses if status.get("name") == MAIN_CONTAINER)
    return next(named, statuses[0] if statuses else {})


def _memory_limit(spec: dict[str, Any]) -> str:
    main = _main(as_list(spec.get("containers")))
    limit = text_of(part(part(main, "resources"), "limits").get("memory"))
    return limit if _QUANTITY.fullmatch(limit) else ""


def _condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    conditions = map(as_object, as_list(status.get("conditions"))[:MAX_CONTAINERS])
    return next((condition for condition in conditions if condition.get("type") == kind), {})


def _reason(state: dict[str, Any]) -> str:
    words = (letters_of(state.get("reason")) or "no reason", one_line(state.get("message")))
    return ": ".join(filter(None, words))[:MESSAGE_CHARS]

"""Path of an answer → its place in a reading; for answers that were recorded or archived earlier."""

import re
from datetime import UTC, datetime
from enum import Enum
from typing import TypeVar
from urllib.parse import unquote

from ingest.flink_rest.answers import Answer, ClusterAnswers, JobAnswers
from ingest.messages import message

_JOB = re.compile(r"/jobs/([0-9a-f]{32})(?=$|[/?])")
_DETAIL = re.compile(r"/checkpoints/details/(\d{1,19})")
_SUBTASKS = re.compile(r"/checkpoints/details/(\d{1,19})/subtasks/([0-9a-f]{32})")
_VERTEX = re.compile(r"/vertices/([0-9a-f]{32})")
_BACKPRESSURE = re.compile(r"/vertices/([0-9a-f]{32})/backpressure")
_VERTEX_METRICS = re.compile(
    r"/vertices/([0-9a-f]{32})(?:/subtasks/\d{1,5})?/metrics\?(?:.*&)?get=.*", re.DOTALL
)
_GAUGES = re.compile(r"/vertices/([0-9a-f]{32})/subtasks/metrics\?(?:.*&)?get=.*", re.DOTALL)
_JOB_METRICS = re.compile(r"/metrics\?(?:.*&)?get=.*", re.DOTALL)
_TASKMANAGER = re.compile(r"/taskmanagers/([^/?]+)")
_TASKMANAGER_METRICS = re.compile(r"/taskmanagers/([^/?]+)/metrics\?(?:.*&)?get=.*", re.DOTALL)

_Key = TypeVar("_Key")
_NEVER = datetime.min.replace(tzinfo=UTC)
_OF_JOB = {
    "": "job",
    "/plan": "plan",
    "/config": "config",
    "/checkpoints": "checkpoints",
    "/checkpoints/config": "checkpoint_config",
    "/exceptions": "exceptions",
    "/jobmanager/config": "jobmanager_config",  # so in archives and on the History Server
}


class Filed(Enum):
    KEPT = "kept"
    TAKEN = message("the same was asked before in this reading")
    UNKNOWN = message("nothing that Weir reads")


def job_of(path: str) -> str | None:
    match = _JOB.match(path)
    return match[1] if match else None


def is_read(path: str) -> bool:
    if path.partition("?")[0] in ("/config", "/overview", "/jobs/overview", "/jobmanager/config"):
        return True
    probe = Answer(path, _NEVER, None)
    job_id = job_of(path)
    return (
        file_job_answer(JobAnswers(job_id), probe)
        if job_id
        else file_cluster_answer(ClusterAnswers(), probe)
    ) is Filed.KEPT


def file_job_answer(reading: JobAnswers, answer: Answer) -> Filed:
    """Put the answer where it belongs, unless that place is taken."""
    resource = _JOB.sub("", answer.path, count=1)
    attribute = _OF_JOB.get(resource.partition("?")[0]) or (
        "job_metrics" if _JOB_METRICS.fullmatch(resource) else None
    )
    if attribute:
        if getattr(reading, attribute) is not None:
            return Filed.TAKEN
        setattr(reading, attribute, answer)
        return Filed.KEPT
    if match := _SUBTASKS.fullmatch(resource):
        return _file(reading.subtasks, (int(match[1]), match[2]), answer)
    if match := _DETAIL.fullmatch(resource):
        return _file(reading.details, int(match[1]), answer)
    if match := _VERTEX.fullmatch(resource):
        return _file(reading.vertices, match[1], answer)
    if match := _BACKPRESSURE.fullmatch(resource):
        return _file(reading.backpressure, match[1], answer)
    if match := _GAUGES.fullmatch(resource):
        return _file_among(reading.gauges, match[1], answer, reading.metrics_paths)
    if match := _VERTEX_METRICS.fullmatch(resource):
        return _file_among(reading.metrics, match[1], answer, reading.metrics_paths)
    return Filed.UNKNOWN


def file_cluster_answer(reading: ClusterAnswers, answer: Answer) -> Filed:
    if answer.path == "/taskmanagers":
        if reading.taskmanagers is not None:
            return Filed.TAKEN
        reading.taskmanagers = answer
        return Filed.KEPT
    if match := _TASKMANAGER.fullmatch(answer.path):
        return _file(reading.taskmanager_details, unquote(match[1]), answer)
    if match := _TASKMANAGER_METRICS.fullmatch(answer.path):
        return _file_among(
            reading.taskmanager_metrics, unquote(match[1]), answer, reading.metrics_paths
        )
    return Filed.UNKNOWN


def _file(place: dict[_Key, Answer], key: _Key, answer: Answer) -> Filed:
    if key in place:
        return Filed.TAKEN
    place[key] = answer
    return Filed.KEPT


def _file_among(
    place: dict[str, list[Answer]], key: str, answer: Answer, resource: set[str]
) -> Filed:
    if answer.path in resource:
        return Filed.TAKEN
    resource.add(answer.path)
    place.setdefault(key, []).append(answer)
    return Filed.KEPT

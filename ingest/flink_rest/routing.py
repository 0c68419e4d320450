import re
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Any
from urllib.parse import unquote

from ingest.flink_rest.answers import Answer, ClusterAnswers, JobAnswers

_JOB = re.compile(r"/jobs/([0-9a-f]{32})(?=$|[/?])")
_NEVER = datetime.min.replace(tzinfo=UTC)
_JOB_RESOURCES = {
    "": "job",
    "/plan": "plan",
    "/config": "config",
    "/checkpoints": "checkpoints",
    "/checkpoints/config": "checkpoint_config",
    "/exceptions": "exceptions",
    "/jobmanager/config": "jobmanager_config",  # below a job in archives and on the History Server
}
_GET = r"/metrics\?(?:.*&)?get=.*"
_JOB_METRICS = re.compile(_GET, re.DOTALL)


def _id(match: re.Match[str]) -> str:
    return unquote(match[1])


_Route = tuple[str, re.Pattern[str], Callable[[re.Match[str]], Any]]
_SUBTASKS = r"/checkpoints/details/(\d{1,19})/subtasks/([0-9a-f]{32})"
_VERTEX = r"/vertices/([0-9a-f]{32})"
_JOB_ROUTES: tuple[_Route, ...] = (
    ("subtasks", re.compile(_SUBTASKS), lambda match: (int(match[1]), match[2])),
    ("details", re.compile(r"/checkpoints/details/(\d{1,19})"), lambda match: int(match[1])),
    ("vertices", re.compile(_VERTEX), _id),
    ("backpressure", re.compile(f"{_VERTEX}/backpressure"), _id),
    ("gauges", re.compile(f"{_VERTEX}/subtasks{_GET}", re.DOTALL), _id),
    ("metrics", re.compile(rf"{_VERTEX}(?:/subtasks/\d{{1,5}})?{_GET}", re.DOTALL), _id),
)
_CLUSTER_ROUTES: tuple[_Route, ...] = (
    ("taskmanager_details", re.compile(r"/taskmanagers/([^/?]+)"), _id),
    ("taskmanager_metrics", re.compile(rf"/taskmanagers/([^/?]+){_GET}", re.DOTALL), _id),
)
"""Each route: attribute of ``JobAnswers`` or ``ClusterAnswers``, paths, and key for a path."""
_LISTS = ("gauges", "metrics", "taskmanager_metrics")


class Filed(Enum):
    KEPT = auto()
    REPEATED = auto()
    UNKNOWN = auto()


def job_of(path: str) -> str | None:
    match = _JOB.match(path)
    return match[1] if match else None


def is_read(path: str) -> bool:
    if path.partition("?")[0] in ("/config", "/overview", "/jobs/overview", "/jobmanager/config"):
        return True
    answer = Answer(path, _NEVER, None)
    job_id = job_of(path)
    return (
        file_job_answer(JobAnswers(job_id), answer)
        if job_id
        else file_cluster_answer(ClusterAnswers(), answer)
    ) is Filed.KEPT


def file_job_answer(reading: JobAnswers, answer: Answer) -> Filed:
    resource = _JOB.sub("", answer.path, count=1)
    attribute = _JOB_RESOURCES.get(resource.partition("?")[0]) or (
        "job_metrics" if _JOB_METRICS.fullmatch(resource) else None
    )
    if attribute:
        return _set_answer(reading, attribute, answer)
    return _file_by_route(reading, _JOB_ROUTES, resource, answer)


def file_cluster_answer(reading: ClusterAnswers, answer: Answer) -> Filed:
    if answer.path == "/taskmanagers":
        return _set_answer(reading, "taskmanagers", answer)
    return _file_by_route(reading, _CLUSTER_ROUTES, answer.path, answer)


def _set_answer(reading: JobAnswers | ClusterAnswers, attribute: str, answer: Answer) -> Filed:
    if getattr(reading, attribute) is not None:
        return Filed.REPEATED
    setattr(reading, attribute, answer)
    return Filed.KEPT


def _file_by_route(
    reading: JobAnswers | ClusterAnswers, routes: tuple[_Route, ...], resource: str, answer: Answer
) -> Filed:
    for attribute, pattern, key_of in routes:
        if match := pattern.fullmatch(resource):
            return _file(reading, attribute, key_of(match), answer)
    return Filed.UNKNOWN


def _file(reading: JobAnswers | ClusterAnswers, attribute: str, key: Any, answer: Answer) -> Filed:
    answers = getattr(reading, attribute)
    if attribute not in _LISTS:
        if key in answers:
            return Filed.REPEATED
        answers[key] = answer
        return Filed.KEPT
    if answer.path in reading.metrics_paths:
        return Filed.REPEATED
    reading.metrics_paths.add(answer.path)
    answers.setdefault(key, []).append(answer)
    return Filed.KEPT

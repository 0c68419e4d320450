"""Reads metrics by OTLP over HTTP as samples with the Prometheus reporter's names.

Flink's ``OpenTelemetryMetricReporter`` (1.20+, ``exporter.protocol: http``) joins ``flink``, scope
and name by dots. The rate of a meter ends with ``.rate``. Counters are differences (``DELTA``) and
are not read. Source: this class and ``OpenTelemetryMetricAdapter`` of Flink 1.20 to 2.2,
``opentelemetry/proto/metrics/v1/metrics.proto``.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import NumberDataPoint

from ingest.errors import Refused
from ingest.json_bounds import MAX_NUMBER_CHARS
from ingest.prometheus.gauges import parse_gauge_name
from ingest.prometheus.names import JOB_NAMES, TASK_NAMES, TASKMANAGER_NAMES, reporter_name
from ingest.prometheus.rows import LAST_INSTANT_S
from ingest.pushed import bounds
from ingest.pushed.bounds import Count
from ingest.pushed.metric_sample import Sample
from ingest.pushed.otlp_values import members
from ingest.pushed.protobuf_fields import contents, fields, message_of, tag_of

LABELS = (
    "job_id",
    "job_name",
    "task_id",
    "task_name",
    "subtask_index",
    "task_attempt_num",
    "operator_id",
    "tm_id",
    "host",
    "topic",
    "partition",
)
MAX_LABEL_CHARS = 1_000
MAX_NAME_CHARS = 300
NAME_CHARS_A_PART = 12
_RATE = "_rate"
_NAMES = {name.lower(): name for name in (*TASK_NAMES, *JOB_NAMES, *TASKMANAGER_NAMES)}

_RESOURCES, _SCOPES, _METRICS = tag_of(1), tag_of(2), tag_of(2)
_NAME, _GAUGE, _SUM = tag_of(1), tag_of(5), tag_of(7)
_POINTS, _TEMPORALITY = tag_of(1), tag_of(2, is_number=True)
_CUMULATIVE = b"\x02"

_DELTA = "differences (delta), from which no total follows"
_NOT_A_SAMPLE = "no numbers, or of no instant"


@dataclass(slots=True)
class Pushed:
    """``unread``: (reason, metric) → number of samples."""

    samples: list[Sample] = field(default_factory=list)
    unread: Counter[tuple[str, str]] = field(default_factory=Counter)

    def take(self, name: str, sample: Sample | None) -> None:
        if sample is None:
            self.unread[_NOT_A_SAMPLE, name] += 1
        else:
            self.samples.append(sample)

    @property
    def problem(self) -> str:
        if not self.unread:
            return ""
        (why, name), count = self.unread.most_common(1)[0]
        return f"{self.unread.total():,} sample(s) are not read; {count:,} of {name} are {why}."


def from_protobuf(body: bytes) -> Pushed:
    """Raises ``Refused``."""
    pushed, samples, parts = Pushed(), bounds.records(bounds.MAX_OTLP_RECORDS), bounds.parts()
    try:
        for resource in contents(body, _RESOURCES, parts):
            for scope in contents(resource, _SCOPES, parts):
                for metric in contents(scope, _METRICS, parts):
                    _take_message(metric, pushed, samples, parts)
    except (DecodeError, ValueError) as error:
        raise Refused("The body is no ExportMetricsServiceRequest in protobuf.") from error
    return pushed


def from_json(body: bytes) -> Pushed:
    document = bounds.json_document(body)
    if not isinstance(document, dict) or not isinstance(document.get("resourceMetrics", []), list):
        raise Refused('The body is no JSON object with "resourceMetrics".')
    pushed, samples, parts = Pushed(), bounds.records(bounds.MAX_OTLP_RECORDS), bounds.parts()
    for resource in members(document, "resourceMetrics", parts):
        for scope in members(resource, "scopeMetrics", parts):
            for metric in members(scope, "metrics", parts):
                _take_object(metric, pushed, samples, parts)
    return pushed


def accepted() -> ExportMetricsServiceResponse:
    """Reports no rejected points, since the reporter would then stop sending."""
    return ExportMetricsServiceResponse()


def _take_message(metric: bytes, pushed: Pushed, samples: Count, parts: Count) -> None:
    by_tag = dict(fields(metric, parts))
    name = _metric_name(by_tag.get(_NAME, b"").decode("utf-8", "replace"), parts)
    data = by_tag.get(_GAUGE, by_tag.get(_SUM))
    if name is None:
        return
    if data is None:
        pushed.take(name, None)
        return
    data_fields = list(fields(data, parts))
    points = [content for tag, content in data_fields if tag == _POINTS]
    if _GAUGE not in by_tag and (_TEMPORALITY, _CUMULATIVE) not in data_fields:
        pushed.unread[_DELTA, name] += len(points)
        return
    samples.add(len(points))
    for content in points:
        point = message_of(content, NumberDataPoint, parts)
        parts.add(len(point.attributes))
        kind = point.WhichOneof("value")
        pushed.take(
            name,
            _sample(
                name,
                point.time_unix_nano,
                getattr(point, kind) if kind else None,
                _message_attributes(point),
            ),
        )


def _take_object(metric: Any, pushed: Pushed, samples: Count, parts: Count) -> None:
    name = _metric_name(metric.get("name") if isinstance(metric, dict) else None, parts)
    if name is None:
        return
    match metric:
        case {"gauge": dict(data)} | {
            "sum": {"aggregationTemporality": "AGGREGATION_TEMPORALITY_CUMULATIVE" | 2} as data
        }:
            points = members(data, "dataPoints", parts)
        case {"sum": data}:
            pushed.unread[_DELTA, name] += len(members(data, "dataPoints", parts))
            return
        case _:
            pushed.take(name, None)
            return
    samples.add(len(points))
    for point in points:
        match point:
            case {
                "timeUnixNano": str() | int() as at,
                "asDouble": str() | int() | bytes() as value,
            }:
                pushed.take(name, _sample(name, at, value, _object_attributes(point, parts)))
            case {"timeUnixNano": str() | int() as at, "asInt": str() | int() as value}:
                pushed.take(name, _sample(name, at, value, _object_attributes(point, parts)))
            case _:
                pushed.take(name, None)


def _metric_name(otlp_name: Any, parts: Count) -> str | None:
    if not isinstance(otlp_name, str) or len(otlp_name) > MAX_NAME_CHARS:
        return None
    parts.add(1 + len(otlp_name) // NAME_CHARS_A_PART)
    return _reporter_metric(otlp_name)


@lru_cache(maxsize=10_000)
def _reporter_metric(otlp_name: str) -> str | None:
    name = reporter_name("", otlp_name).lower()
    return (
        _NAMES.get(name)
        or _NAMES.get(name.removesuffix(_RATE))
        or (name if parse_gauge_name(name) else None)
    )


def _sample(name: str, at_ns: Any, value: Any, labels: Iterable[tuple[str, str]]) -> Sample | None:
    if any(isinstance(raw, str | bytes) and len(raw) > MAX_NUMBER_CHARS for raw in (at_ns, value)):
        return None
    try:
        at_s, number = int(at_ns) / 1e9, float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if not (math.isfinite(number) and 0 < at_s <= LAST_INSTANT_S):
        return None
    return Sample(
        name, tuple((label, text[:MAX_LABEL_CHARS]) for label, text in labels), at_s, number
    )


def _message_attributes(point: NumberDataPoint) -> Iterator[tuple[str, str]]:
    for pair in point.attributes:
        if pair.key in LABELS:
            match pair.value.WhichOneof("value"):
                case "string_value":
                    yield pair.key, pair.value.string_value
                case "int_value":
                    yield pair.key, str(pair.value.int_value)


def _object_attributes(point: dict[str, Any], parts: Count) -> Iterator[tuple[str, str]]:
    for pair in members(point, "attributes", parts):
        match pair:
            case {"key": str(key), "value": {"stringValue": str(value)}} if key in LABELS:
                yield key, value
            case {"key": str(key), "value": {"intValue": str() | int() as value}} if key in LABELS:
                yield key, str(value)

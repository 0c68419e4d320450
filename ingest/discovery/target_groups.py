"""Target groups of Prometheus, in files and over HTTP
(https://prometheus.io/docs/prometheus/latest/http_sd/): ``[{"targets": ["host:port"], "labels":
{"team": "a"}}]``. As in Prometheus, a document with an error is refused.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.discovery.operator_report import OperatorReport
from ingest.discovery.pods import Pod
from ingest.errors import Skipped
from ingest.messages import message
from ingest.redaction.texts import redact

MAX_TARGETS = 10_000
MAX_LABELS = 64
MAX_VALUE = 500

_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Target:
    """``labels``: all labels, with ``__meta_…``. Secrets in values are masked. ``pods``: None if
    they are not known.
    """

    address: str
    labels: Mapping[str, str]
    operator: OperatorReport | None = None
    pods: tuple[Pod, ...] | None = None


def targets_of(document: Any) -> list[Target]:
    if not isinstance(document, list):
        raise Skipped(message("it must be a list of target groups"))
    distinct_targets: dict[tuple[str, tuple[tuple[str, str], ...]], Target] = {}
    count = 0
    for number, group in enumerate(document, 1):
        where = message("group {number:number}", number=number)
        if not isinstance(group, dict):
            raise Skipped(message("{where:message} must have targets and labels", where=where))
        labels = dict(_labels(group.get("labels"), where))
        targets = group.get("targets")
        if not isinstance(targets, list):
            raise Skipped(
                message("{where:message}: targets must be a list of addresses", where=where)
            )
        count += len(targets)
        if count > MAX_TARGETS:
            raise Skipped(
                message(
                    "it lists more than {max_targets:count} targets; split it into several sources",
                    max_targets=MAX_TARGETS,
                )
            )
        for address in targets:
            if not isinstance(address, str):
                raise Skipped(
                    message(
                        "{where:message}: a target must be a text such as jobmanager:8081",
                        where=where,
                    )
                )
            distinct_targets.setdefault(
                (address, tuple(sorted(labels.items()))), Target(address, labels)
            )
    return list(distinct_targets.values())


def _labels(labels: Any, where: str) -> Iterator[tuple[str, str]]:
    if labels is None:
        return
    if not isinstance(labels, dict) or len(labels) > MAX_LABELS:
        raise Skipped(
            message(
                "{where:text}: labels must be at most {max_labels:number} names with texts",
                where=where,
                max_labels=MAX_LABELS,
            )
        )
    for name, value in labels.items():
        if not isinstance(name, str) or not _LABEL.fullmatch(name):
            raise Skipped(
                message(
                    "{where:text}: {name:text} is not a valid label name: letters, digits and "
                    "underscores, 64 at most",
                    where=where,
                    name=f"{str(name)[:64]!r}",
                )
            )
        if not isinstance(value, str) or len(value) > MAX_VALUE or _UNPRINTABLE.search(value):
            raise Skipped(
                message(
                    "{where:text}: the label {name:name} must be a text of at most "
                    "{max_value:number} characters on one line",
                    where=where,
                    name=name,
                    max_value=MAX_VALUE,
                )
            )
        yield name, redact(value)

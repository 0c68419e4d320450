"""The request of a cycle: thresholds by people, recovery points by audits."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import fsspec

from ingest.errors import Refused
from spark_jobs.diagnosis.plain import recovery_point_from_plain
from spark_jobs.fold.rule_evaluation import Scoped, Settings

EXAMPLE = {
    "thresholds": '{"key": "…", "value": 1, "cluster": "", "job_id": ""}',
    "recovery_points": '{"cluster": "…", "job_id": "…", "checkpoint_id": 1, "audited_at_ms": 1, …}',
}


def read(uri: str) -> Settings:
    """Raises Refused if the file is missing or not valid."""
    try:
        with fsspec.open(uri, "rb") as file:
            raw = json.loads(file.read())
    except FileNotFoundError as error:
        raise Refused(f"There is no request at {uri}.") from error
    except ValueError as error:
        raise Refused(f"The request at {uri} is not JSON ({error}).") from error
    if not isinstance(raw, dict) or raw.keys() - EXAMPLE.keys():
        raise Refused(
            f"The request at {uri} must be a JSON object of {' and '.join(EXAMPLE)}, or of one of "
            "them."
        )
    return Settings(
        _list(uri, raw, "thresholds", _threshold),
        _list(uri, raw, "recovery_points", _recovery_point),
    )


def _list(
    uri: str, raw: Mapping[str, Any], name: str, read_one: Callable[[Scoped], Scoped]
) -> list[Scoped]:
    try:
        return [read_one(entry) for entry in raw.get(name, ())]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise Refused(
            f"{name} in the request at {uri} must be a list of {EXAMPLE[name]} "
            f"({type(error).__name__}: {error})."
        ) from error


def _threshold(scoped: Scoped) -> Scoped:
    return {
        "cluster": "",
        "job_id": "",
        **scoped,
        "key": str(scoped["key"]),
        "value": float(scoped["value"]),
    }


def _recovery_point(scoped: Scoped) -> Scoped:
    point = {**scoped, "cluster": str(scoped["cluster"]), "job_id": str(scoped["job_id"])}
    recovery_point_from_plain(point)
    return point

"""What an audit is asked: defaults, spellings, and requests that are refused."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import Refused
from ingest.storage.instants import CLOCK_SKEW
from spark_jobs import audit_request

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def asked(*uris: str, **more: Any) -> dict[str, Any]:
    roots = [{"uri": uri, "listing": "listing"} for uri in uris or ("s3://bucket/flink",)]
    return {
        "audit_id": "a1",
        "as_of": "2026-11-21T12:00:00+00:00",
        "roots": roots,
        "jobs": "jobs.parquet",
        **more,
    }


def written(folder: Path, *audits: dict[str, Any]) -> str:
    (folder / "request.json").write_text(json.dumps({"audits": audits}))
    return str(folder / "request.json")


def test_relative_paths_are_relative_to_the_request(tmp_path: Path) -> None:
    (audit,) = audit_request.read(written(tmp_path, asked()), NOW)
    assert (audit.jobs, audit.roots[0].listing) == (
        f"{tmp_path}/jobs.parquet",
        f"{tmp_path}/listing",
    )


def test_the_age_guard_is_three_days_unless_said_otherwise(tmp_path: Path) -> None:
    (audit,) = audit_request.read(written(tmp_path, asked()), NOW)
    assert audit.age_guard_h == 72


def test_an_age_guard_below_a_day_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="at least 24 h"):
        audit_request.read(written(tmp_path, asked(age_guard_h=23.9)), NOW)


def test_roots_are_brought_to_one_spelling(tmp_path: Path) -> None:
    (audit,) = audit_request.read(
        written(tmp_path, asked("s3a://bucket//flink/", spellings=[["s3://bucket", "s3://other"]])),
        NOW,
    )
    assert audit.roots[0].uri == "s3://other/flink"


@pytest.mark.parametrize("inner", ["/a", "/a/b", "file:///a/"])
def test_a_root_within_another_is_refused(tmp_path: Path, inner: str) -> None:
    with pytest.raises(Refused, match="overlap"):
        audit_request.read(written(tmp_path, asked("/a-b", "/a", inner)), NOW)


def test_names_that_only_begin_alike_do_not_overlap(tmp_path: Path) -> None:
    (audit,) = audit_request.read(written(tmp_path, asked("/a", "/a-b", "/ab/c")), NOW)
    assert len(audit.roots) == 3


def test_a_root_of_another_audit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="overlap"):
        audit_request.read(written(tmp_path, asked(), asked(audit_id="a2")), NOW)


@pytest.mark.parametrize(
    "broken",
    [
        {"as_of": "2026-11-21T12:00:00"},
        {"as_of": None},
        {"roots": []},
        {"jobs": None},
        {"roots": [{}]},
    ],
)
def test_what_is_no_request_is_refused(tmp_path: Path, broken: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="not one of an audit"):
        audit_request.read(written(tmp_path, asked() | broken), NOW)


def test_a_missing_request_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no request"):
        audit_request.read(f"{tmp_path}/request.json", NOW)


def test_a_request_from_the_future_is_refused(tmp_path: Path) -> None:
    late = NOW + CLOCK_SKEW + timedelta(seconds=1)
    with pytest.raises(Refused, match="cannot have begun in the future"):
        audit_request.read(
            written(tmp_path, asked(), asked("s3://other", audit_id="a2", as_of=late.isoformat())),
            NOW,
        )


def test_a_clock_that_is_a_little_ahead_is_borne_with(tmp_path: Path) -> None:
    (audit,) = audit_request.read(
        written(tmp_path, asked(as_of=(NOW + CLOCK_SKEW).isoformat())), NOW
    )
    assert audit.as_of == NOW + CLOCK_SKEW

"""What a cycle is told of the fleet: defaults, and requests that are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import Refused
from spark_jobs import cycle_request
from spark_jobs.fold.rule_evaluation import Settings

POINT = {"cluster": "c", "job_id": "j", "checkpoint_id": 7, "audited_at_ms": 1}


def written(folder: Path, text: str) -> str:
    (folder / "request.json").write_text(text)
    return str(folder / "request.json")


def test_a_threshold_without_a_scope_is_one_for_all(tmp_path: Path) -> None:
    told = cycle_request.read(
        written(
            tmp_path,
            json.dumps({"thresholds": [{"key": "k", "value": 1}], "recovery_points": [POINT]}),
        )
    )
    assert told == Settings([{"key": "k", "value": 1.0, "cluster": "", "job_id": ""}], [POINT])


def test_what_a_request_does_not_name_is_not_set(tmp_path: Path) -> None:
    assert cycle_request.read(written(tmp_path, "{}")) == Settings([], [])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([], "must be a JSON object of thresholds and recovery_points"),
        ({"threshold": []}, "must be a JSON object of thresholds and recovery_points"),
        ({"thresholds": {"a": 1}}, r'thresholds in the request at .* must be a list of \{"key": '),
        ({"thresholds": [{"key": "k"}]}, "thresholds in the request"),
        ({"thresholds": [{"key": "k", "value": "much"}]}, "thresholds in the request"),
        ({"thresholds": None}, "thresholds in the request"),
        (
            {"recovery_points": [{"cluster": "c", "job_id": "j"}]},
            r'recovery_points in the request at .* must be a list of \{"cluster": ',
        ),
        ({"recovery_points": ["j"]}, "recovery_points in the request"),
    ],
)
def test_what_is_no_request_is_refused(tmp_path: Path, asked: Any, said: str) -> None:
    with pytest.raises(Refused, match=said):
        cycle_request.read(written(tmp_path, json.dumps(asked)))


def test_a_torn_request_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="is not JSON"):
        cycle_request.read(written(tmp_path, '{"thresholds": ['))


def test_a_missing_request_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no request"):
        cycle_request.read(f"{tmp_path}/request.json")

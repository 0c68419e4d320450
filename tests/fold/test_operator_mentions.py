"""What the Kubernetes operator says of a job, as annotations of it."""

from typing import Any

import pytest

from tests.fold.rows import JOB, noon, only
from tests.fold.test_annotations import notes

UPGRADE = (
    "UPGRADE change(s) detected (Diff: FlinkDeploymentSpec[image : a -> b]), starting "
    "reconciliation."
)


def said(reason: str, text: str, at_s: float = 10, path: str | None = None) -> dict[str, Any]:
    return {
        "kind": "operator_event",
        "to_state": reason,
        "reason_text": text,
        "path": path,
        "ts": noon(at_s),
        "job_id": JOB,
    }


@pytest.mark.parametrize(
    ("reason", "text", "label"),
    [
        ("SpecChanged", UPGRADE, "operator began an upgrade"),
        (
            "SpecChanged",
            "SCALE change(s) detected (Diff: …), starting reconciliation.",
            "operator rescales the job",
        ),
        ("Suspended", "Suspending existing deployment.", "operator suspended the job"),
        ("Rollback", "Rolling back failed deployment.", "operator rolled back"),
        ("SavepointCompleted", "upgrade", "operator took a savepoint"),
    ],
)
def test_what_the_operator_did_to_a_job_is_an_annotation_of_it(
    reason: str, text: str, label: str
) -> None:
    row = only(notes(log=[said(reason, text, path="s3://sp/savepoint-1")]))
    assert (row["kind"], row["subject"], row["at"], row["label"]) == (
        "operator",
        reason,
        noon(10),
        label,
    )
    assert row["detail"] == {"said": text, "path": "s3://sp/savepoint-1"}


@pytest.mark.parametrize(
    ("reason", "text"),
    [("JobStatusChanged", "RUNNING"), ("SpecChanged", "IGNORE change(s) detected"), ("New", "x")],
)
def test_what_changes_no_job_is_none(reason: str, text: str) -> None:
    assert notes(log=[said(reason, text)]) == []

"""What deleting by age would have done, from the files that an audit kept."""

import json
from typing import Any

import fsspec

from spark_jobs.storage_words import age_rule_name
from webapp.storage.choices import AuditState
from webapp.storage.models import StorageAudit
from webapp.work import spark_job
from webapp.work.runs import RunRecord


class CannotSimulate(Exception):
    """The audit has no list of files to simulate over."""


def simulate(audit: StorageAudit, days: int, below: str, record: RunRecord) -> dict[str, Any]:
    """As ``python -m spark_jobs age_rule`` writes it.

    Raises :class:`CannotSimulate` and ``SparkFailed``.
    """
    if audit.state != AuditState.LOADED or not audit.files_kept:
        raise CannotSimulate(
            f"The files of audit {audit.audit_id} are no longer kept; take a newer audit."
        )
    name = age_rule_name(days, below)
    target, attempt = f"{audit.run_dir}/age-rule-{name}.json", f"{audit.audit_id}-age-{name}"
    command = [
        "age_rule",
        "--audit-run",
        audit.run_dir,
        "--days",
        str(days),
        "--below",
        below,
        "--out",
        target,
        "--attempt",
        attempt,
    ]
    spark_job.run(command, record, attempt)
    with fsspec.open(target, "rb") as file:
        result: dict[str, Any] = json.loads(file.read())
    return result

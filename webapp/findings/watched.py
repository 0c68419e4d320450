"""Findings of checks that the web application repeats: on clusters, and on Weir itself."""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from webapp.findings import marks, settling
from webapp.findings.choices import SEVERITY_RANK, Severity
from webapp.findings.models import Finding

TEXTS = (*settling.TEXTS, "subject_id")


def keep(
    row: Finding | None,
    cluster: str,
    columns: dict[str, Any],
    now: datetime,
    since: datetime | None = None,
) -> None:
    """Save a rule's result (``columns``) as ``row``, or as a new finding. ``since``: when the
    problem began, if known. For a new finding on a job, ``row`` is unsaved and has its ids.
    """
    before = marks.FindingMark.of(row) if row and row.pk else None
    row = row or Finding(cluster=cluster, job_id="", rule=columns["rule"], first_seen=since or now)
    for name in TEXTS:
        setattr(row, name, columns[name])
    row.severity_rank = SEVERITY_RANK[Severity(row.severity)]
    row.last_seen = row.as_of = now
    try:
        with transaction.atomic():
            marks.save(row, before)
    except IntegrityError:
        # another process has just opened it
        return

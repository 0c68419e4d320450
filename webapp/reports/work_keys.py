from datetime import datetime

from django.db import transaction

from webapp.config import schedule
from webapp.reports.models import IncidentReport
from webapp.work.hints import Task, hint
from webapp.work.models import DueWork

TASK = Task("pipeline.make_report", schedule.DEFAULT, 600)
PREFIX = "reports/"
"""The prefix before a report's number."""
RETRY_S = 60


def key_of(pk: int) -> str:
    return f"{PREFIX}{pk}"


def intervals_s() -> dict[str, int]:
    """Key → seconds between two attempts, for every unfinished report."""
    return {
        key_of(pk): RETRY_S for pk in IncidentReport.objects.to_make().values_list("pk", flat=True)
    }


def wake(pk: int, at: datetime) -> None:
    """Make the report due now, and hint to a worker after the commit."""
    key = key_of(pk)
    DueWork.objects.make_due(key, RETRY_S, at)
    transaction.on_commit(lambda: hint(TASK, key))

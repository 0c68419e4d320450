"""Print incidents."""

from typing import Any

from django.db.models import QuerySet

from webapp.fleet.rows_command import RowsCommand
from webapp.incidents.export import NAMES
from webapp.incidents.filters import IncidentFilters
from webapp.incidents.models import Incident


class Command(RowsCommand):
    help = (
        "Print incidents (findings with the same cause), open and closed, by time: a table, or with "
        "--json one object per line. Exit code 0, or 2 if the cluster or job is unknown."
    )
    model = Incident
    filters = IncidentFilters
    order = ("began_at", "id")
    names = NAMES
    columns = (
        ("began_at", 20),
        ("state", 6),
        ("severity", 8),
        ("cluster", 20),
        ("job_name", 24),
        ("finding_count", 8),
        ("uid", 30),
        ("title", 0),
    )
    right = ("finding_count",)

    def rows(self) -> QuerySet[Any]:
        return Incident.objects.listed()

    def cells(self, row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "began_at": row["began_at"].strftime("%Y-%m-%dT%H:%M:%SZ")}

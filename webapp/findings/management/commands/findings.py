from typing import Any

from webapp.findings.export import NAMES
from webapp.findings.filters import FindingFilters
from webapp.findings.models import Finding
from webapp.fleet.rows_command import RowsCommand


class Command(RowsCommand):
    help = (
        "Print what the rules found, open and closed, by cluster, job and time: a table, or with "
        "--json one object per line. Exit code 0, or 2 if the cluster or job is unknown."
    )
    model = Finding
    filters = FindingFilters
    order = ("cluster", "job_id", "first_seen", "rule", "id")
    names = NAMES
    columns = (
        ("last_seen", 20),
        ("state", 6),
        ("severity", 8),
        ("confidence", 10),
        ("rule", 30),
        ("cluster", 20),
        ("job_name", 24),
        ("title", 0),
    )

    def cells(self, row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "last_seen": row["last_seen"].strftime("%Y-%m-%dT%H:%M:%SZ")}

from webapp.findings.filters import FindingFilters
from webapp.findings.models import Finding
from webapp.fleet.rows_command import RowsCommand


class Command(RowsCommand):
    help = (
        "Print what the rules found, open and closed, by cluster, job and time, one JSON "
        "object a line. Exit code 0, or 2 if the cluster or job is unknown."
    )
    model = Finding
    filters = FindingFilters
    order = ("cluster", "job_id", "first_seen", "rule", "id")
    names = (
        "rule",
        "severity",
        "confidence",
        "state",
        "cluster",
        "job_id",
        "job_name",
        "subject",
        "title",
        "evidence",
        "next_step",
        "first_seen",
        "last_seen",
        "closed_at",
        "cause",
        "subject_kind",
        "subject_id",
        "related",
        "data",
        "as_of",
        "id",
    )

"""Print findings."""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from typing import Any

from django.core.management.base import CommandError

from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.findings.choices import FindingState, Severity
from webapp.findings.export import NAMES
from webapp.findings.models import Finding
from webapp.fleet.models import Cluster, JobCurrent
from webapp.lib.printing import json_line, print_lines

ROWS_AT_ONCE = 2_000
COLUMNS = (
    ("last_seen", 20), ("state", 6), ("severity", 8), ("confidence", 10), ("rule", 30), ("cluster", 20), ("job_name", 24), ("title", 0),
)  # fmt: skip


class Command(PreparedCommand):
    help = (
        "Print what the rules found, open and closed, by cluster, job and time: a table, or with --json one object a line. "
        "Exit code 0, or 2 where the cluster or job is unknown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--cluster", help="only of this cluster")
        parser.add_argument("--job", help="only of this job: its id or its name")
        parser.add_argument("--rule", help="only of this rule, such as pressure.root")
        parser.add_argument("--state", choices=FindingState.values, help="only open or closed ones (default: both)")
        parser.add_argument("--severity", choices=Severity.values, help="only of this severity")
        parser.add_argument("--json", action="store_true", help="one JSON object a line")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = Finding.objects.all()
        if options["cluster"]:
            findings = findings.filter(cluster=options["cluster"])
            if not findings.exists() and not Cluster.objects.filter(name=options["cluster"]).exists():
                raise CommandError(f"There is no cluster {options['cluster']}.", returncode=REFUSED)
        if options["job"]:
            findings = findings.filter(job_id__in=self._job_ids(options["job"], options["cluster"]))
        for name in ("rule", "state", "severity"):
            if options[name]:
                findings = findings.filter(**{name: options[name]})
        rows = findings.order_by("cluster", "job_id", "first_seen", "rule", "id").values_list(*NAMES).iterator(ROWS_AT_ONCE)
        print_lines(self.stdout, _json_lines(rows) if options["json"] else _table(rows))

    def _job_ids(self, job: str, cluster: str | None) -> list[str]:
        known = JobCurrent.objects.filter(cluster=cluster) if cluster else JobCurrent.objects.all()
        if known.filter(job_id=job).exists() or Finding.objects.filter(job_id=job).exists():
            return [job]
        named = list(known.filter(name=job).values_list("job_id", flat=True))
        if not named:
            raise CommandError(f"There is no job with the id or name {job}.", returncode=REFUSED)
        return named


def _json_lines(rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    return (json_line(NAMES, row) for row in rows)


def _table(rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    yield _aligned([name for name, _ in COLUMNS])
    yield from map(_as_table_line, rows)


def _as_table_line(values: tuple[Any, ...]) -> str:
    finding = dict(zip(NAMES, values, strict=True))
    finding["last_seen"] = finding["last_seen"].strftime("%Y-%m-%dT%H:%M:%SZ")
    return _aligned([str(finding[name] or "-") for name, _ in COLUMNS])


def _aligned(cells: list[str]) -> str:
    return "  ".join(cell.ljust(width) for cell, (_, width) in zip(cells, COLUMNS, strict=True)).rstrip()

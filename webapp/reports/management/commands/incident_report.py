import json
from argparse import ArgumentParser
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from webapp.alerting.models import Alert
from webapp.config.preparation import PreparedCommand
from webapp.fleet.models import JobCurrent
from webapp.lib.command_line import command_line_name
from webapp.reports import report_scope
from webapp.reports.document import Report
from webapp.reports.gathering import incident
from webapp.reports.models import new_report_uid
from webapp.reports.renderers.files import FORMS, rendered
from webapp.reports.report_scope import BadScope, ReportScope


class Command(PreparedCommand):
    help = (
        "Report what happened to jobs in a time range, as two files: HTML that contains its "
        "charts, and JSON. The report is not stored in Weir. Exit code 0, 1 if a file could not be "
        "written, 2 if the input is invalid."
    )

    refusals = (BadScope,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--cluster",
            action="append",
            default=[],
            metavar="C",
            help="a cluster; may be repeated",
        )
        parser.add_argument(
            "--job",
            action="append",
            default=[],
            metavar="J",
            help="id or name; one for each --cluster, in their order (default: its worst job)",
        )
        parser.add_argument(
            "--alert", metavar="UID", help="report on this alert, instead of jobs and a time range"
        )
        parser.add_argument(
            "--from",
            dest="start",
            default="",
            metavar="T",
            help=(
                "now-6h, or 2026-11-21T04:10:00Z (default: 6 hours ago; for an ended job, its start)"
            ),
        )
        parser.add_argument(
            "--to",
            dest="end",
            default="",
            metavar="T",
            help="(default: now; for an ended job, its end)",
        )
        parser.add_argument(
            "--out",
            type=Path,
            required=True,
            metavar="DIR",
            help="created if it is missing; files in it are replaced",
        )
        parser.add_argument(
            "--json",
            action="store_true",
            help="one JSON object about what was made, instead of text",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        document = incident.gather(
            self._scope(options, now),
            uid=new_report_uid(),
            made_at=now,
            made_by=command_line_name(),
            from_alert=options["alert"] or "",
        )
        files = _write(document, options["out"])
        if options["json"]:
            headline = {
                "title": document.title,
                "tone": document.pages.verdict.tone,
                "headline": document.pages.verdict.sentence,
            }
            self.stdout.write(json.dumps({**headline, "files": files}, ensure_ascii=False))
        else:
            self.stdout.write(f"{document.title}\n{document.pages.verdict.sentence}")
            for path in files.values():
                self.stdout.write(f"  {path}")

    def _scope(self, options: dict[str, Any], now: datetime) -> ReportScope:
        if options["alert"]:
            alert = Alert.objects.filter(uid=options["alert"]).first()
            if alert is None:
                raise BadScope(f"There is no alert {options['alert']}.")
            return report_scope.scope_of_alert(alert, now)
        jobs = _jobs(options["cluster"], options["job"])
        start, end = options["start"], options["end"]
        if not start and not end:
            start, end = report_scope.proposed_range(jobs)
        return report_scope.scope([job.key for job in jobs], start, end, now)


def _write(document: Report, out: Path) -> dict[str, str]:
    """Format → path of its file."""
    paths = {}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for form in FORMS:
            path = out / f"report.{form}"
            path.write_bytes(rendered(document, form))
            paths[form] = str(path)
    except OSError as error:
        raise CommandError(f"{out}: {error.strerror or error}") from error
    return paths


def _jobs(clusters: list[str], jobs: list[str]) -> list[JobCurrent]:
    """Raises :class:`BadScope`."""
    if not clusters:
        raise BadScope("Name a job by --cluster and --job, or an alert by --alert.")
    if jobs and len(jobs) != len(clusters):
        raise BadScope("Give one --job for each --cluster, or none at all.")
    rows_of_jobs = []
    for cluster, job in zip(clusters, jobs or [""] * len(clusters), strict=True):
        rows = JobCurrent.objects.filter(cluster=cluster).worst_first("-last_seen_at", "id")
        row = (
            (rows.filter(job_id=job).first() or rows.filter(name=job).first())
            if job
            else rows.first()
        )
        if row is None:
            raise BadScope(
                f"No job{f' {job}' if job else ''} was ever seen on a cluster called {cluster}."
            )
        rows_of_jobs.append(row)
    return rows_of_jobs

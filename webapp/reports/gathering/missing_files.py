"""Files that restores of one job did not find in the time of a report, each with its triage."""

from ingest.uris import BadUri
from webapp.cleanup.missing_files.causes import RULED_OUT
from webapp.cleanup.missing_files.missing_file import Triage, triage
from webapp.cleanup.missing_files.words import LABELS, VERDICTS, summary
from webapp.findings.models import Finding
from webapp.fleet.models import JobCurrent
from webapp.reports import texts
from webapp.reports.document import ReportedMissingFile
from webapp.reports.gathering.scope import ReportScope

RULE = "restore.missing_file"
MOST_FILES = 3
"""Each looks through lists of audits."""


def rows(job: JobCurrent, scope: ReportScope) -> tuple[ReportedMissingFile, ...]:
    """One query where no restore lacked a file."""
    findings = Finding.objects.filter(
        cluster=job.cluster,
        job_id=job.job_id,
        rule=RULE,
        first_seen__lte=scope.end,
        last_seen__gte=scope.start,
    )
    paths = [
        file["path"]
        for data in findings.order_by("-last_seen").values_list("data", flat=True)[:MOST_FILES]
        for file in data.get("files") or ()
    ]
    return tuple(
        missing_file
        for path in list(dict.fromkeys(paths))[:MOST_FILES]
        if (missing_file := _reported(path))
    )


def _reported(path: str) -> ReportedMissingFile | None:
    try:
        triaged = triage(path)
    except BadUri:
        return None
    owner = triaged.owner
    causes = tuple(
        (LABELS[cause.key], VERDICTS[cause.verdict].word, texts.bounded(cause.because))
        for cause in triaged.causes
        if cause.verdict != RULED_OUT
    )
    return ReportedMissingFile(
        path=texts.bounded(triaged.path),
        summary=texts.bounded(summary(triaged).word),
        owner=texts.name(owner.name, owner.job_id) if owner else "",
        snapshots=len(triaged.referrers) + triaged.more_referrers,
        operators=_operators(triaged),
        last_listed=triaged.seen.as_of if triaged.seen else None,
        gone_by=triaged.gone_by,
        causes=causes,
    )


def _operators(triaged: Triage) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(texts.name(handle.operator, handle.operator_id) for handle in triaged.handles)
    )

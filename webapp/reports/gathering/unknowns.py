from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from ingest.messages import message, plural
from webapp.config.row_retention import routine
from webapp.findings.job_judgements import shown_unknowns
from webapp.findings.models import JobJudgement
from webapp.fleet.choices import Visibility
from webapp.fleet.models import Cluster
from webapp.lib.instants import instant_text
from webapp.lib.scoped_rows import JobKey
from webapp.reports.gathering.job_figures import JobFigures
from webapp.reports.report_scope import ReportScope
from webapp.work.models import SkippedInput

MOST_UNKNOWNS, MOST_RULES = 40, 10
_JUDGING_DELAY = timedelta(minutes=2)


def unknowns(
    jobs: Sequence[JobFigures],
    clusters: Mapping[str, Cluster],
    missing_jobs: Sequence[JobKey],
    scope: ReportScope,
    now: datetime,
) -> list[str]:
    sentences: list[str] = [
        message(
            "Nothing is known of job {name:name} on {name2:name}.",
            name=key.job_id,
            name2=key.cluster,
        )
        for key in missing_jobs
    ]
    rows = JobJudgement.objects.filter(job_id__in=[job.job.job_id for job in jobs])
    rule_unknowns = {row.key: shown_unknowns(row.unknowns or ()) for row in rows}
    for job in jobs:
        sentences += _job_sentences(job, clusters.get(job.job.cluster), scope, now)
        for rule in rule_unknowns.get(job.key, [])[:MOST_RULES]:
            sentences.append(
                message(
                    "{name:name}: rule {name2:name} could not judge; it lacked {bounded:name}.",
                    name=job.name,
                    name2=rule.get("rule") or "",
                    bounded=rule.get("missing") or "",
                )
            )
    skipped = SkippedInput.objects.filter(
        cluster__in={job.job.cluster for job in jobs},
        observed_at__range=(scope.start, scope.end),
    ).count()
    if skipped:
        sentences.append(
            message(
                "{inputs:message} of these clusters could not be read in this time; the pipeline "
                "page says which and why.",
                inputs=plural(skipped, "{count:count} input", "{count:count} inputs"),
            )
        )
    return sentences[:MOST_UNKNOWNS]


def _job_sentences(
    figures: JobFigures, cluster: Cluster | None, scope: ReportScope, now: datetime
) -> Iterator[str]:
    job, name = figures.job, figures.name
    is_alive = not job.end_time and not figures.is_recording
    if job.judged_at is None:
        yield message("{name:name}: no rule has judged it yet.", name=name)
    elif is_alive and job.judged_at < scope.end - _JUDGING_DELAY:
        yield message(
            "{name:name}: judged up to {judged_at:name} only.",
            name=name,
            judged_at=instant_text(job.judged_at),
        )
    if not figures.is_recording and scope.start < now - routine():
        yield message(
            "{name:name}: log events and pressure older than {days:number} days are no longer "
            "kept; failed checkpoints and findings are.",
            name=name,
            days=routine().days,
        )
    if cluster and cluster.visibility_at(now) == Visibility.UNREACHABLE:
        yield message(
            "{name:name}: its cluster cannot be seen now ({why:name}), so its state now is not "
            "known.",
            name=name,
            why=cluster.last_error or message("no answer"),
        )

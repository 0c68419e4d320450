"""The sources of a report's facts, their age, and what is unknown."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from django.db.models import Max

from ingest.messages import message, plural
from webapp.analyses.document import Block, Document, Fact, Facts, NotKnown, Verdict
from webapp.config.row_retention import routine
from webapp.findings.job_judgements import shown_unknowns
from webapp.findings.models import JobJudgement
from webapp.fleet.choices import Visibility
from webapp.fleet.models import Cluster
from webapp.lib.instants import instant_text
from webapp.reports.document import Part
from webapp.reports.gathering.job_figures import JobFigures
from webapp.reports.report_scope import JobKey, ReportScope
from webapp.work.models import Manifest, SkippedInput

MOST_UNKNOWNS, MOST_RULES = 40, 10
_A_LITTLE = timedelta(minutes=2)
_SEEN = {
    Visibility.RECORDING: message("a recording, judged at its recorded time"),
    Visibility.LIVE: message("seen now"),
    Visibility.UNREACHABLE: message("not seen now"),
    Visibility.PAUSED: "paused",
    Visibility.NEW: message("never asked"),
    Visibility.BROKEN: message("without a JobManager, as its operator says"),
    Visibility.SUSPENDED: message("suspended by its operator"),
}


def part(
    jobs: Sequence[JobFigures],
    clusters: Mapping[str, Cluster],
    unknown: Sequence[str],
    now: datetime,
) -> Part:
    loaded = Manifest.objects.filter(state=Manifest.State.LOADED).aggregate(at=Max("loaded_at"))
    facts = [Fact("loaded", message("Results of Spark in the database"), loaded["at"], "instant")]
    for name in sorted({job.job.cluster for job in jobs}):
        cluster = clusters.get(name)
        seen = [job.job.last_seen_at for job in jobs if job.job.cluster == name]
        last = max(filter(None, seen), default=None)
        facts.append(
            Fact(
                f"cluster-{name}",
                message("Cluster {name:name}", name=name),
                (cluster and cluster.last_success_at) or last,
                "instant",
                _SEEN.get(cluster.visibility_at(now), "")
                if cluster
                else message("no longer registered; what it reported before is kept"),
            )
        )
    return of(message("Where its facts come from, and how fresh they were"), facts, unknown)


def of(sentence: str, facts: Sequence[Fact], unknown: Sequence[str]) -> Part:
    blocks: tuple[Block, ...] = (Facts(tuple(facts)), *map(NotKnown, unknown))
    title = message("Sources, and what is not known")
    return Part("sources", title, Document(Verdict("done", sentence), blocks))


def unknowns(
    jobs: Sequence[JobFigures],
    clusters: Mapping[str, Cluster],
    missing: Sequence[JobKey],
    scope: ReportScope,
    now: datetime,
) -> list[str]:
    """Sentences on missing data: one query for what rules lacked, one for skipped inputs."""
    sentences: list[str] = [
        message(
            "Nothing is known of job {name:name} on {name2:name}.",
            name=key.job_id,
            name2=key.cluster,
        )
        for key in missing
    ]
    rows = JobJudgement.objects.filter(job_id__in=[job.job.job_id for job in jobs])
    lacked = {(row.cluster, row.job_id): shown_unknowns(row.unknowns or ()) for row in rows}
    for job in jobs:
        sentences += _job_sentences(job, scope, now)
        if cluster := clusters.get(job.job.cluster):
            sentences += _cluster_sentences(job.name, cluster, now)
        for rule in lacked.get(job.key, [])[:MOST_RULES]:
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


def _cluster_sentences(name: str, cluster: Cluster, now: datetime) -> Iterator[str]:
    visibility = cluster.visibility_at(now)
    if visibility == Visibility.UNREACHABLE:
        yield message(
            "{name:name}: its cluster cannot be seen now ({why:name}), so its state now is not "
            "known.",
            name=name,
            why=cluster.last_error or message("no answer"),
        )
    if visibility == Visibility.BROKEN:
        yield message(
            "{name:name}: no JobManager of its cluster runs, as its operator says: {bounded:name}.",
            name=name,
            bounded=cluster.operator_message or "",
        )


def _job_sentences(figures: JobFigures, scope: ReportScope, now: datetime) -> Iterator[str]:
    job, name = figures.job, figures.name
    lives_now = not job.end_time and not figures.is_recording
    if job.judged_at is None:
        yield message("{name:name}: no rule has judged it yet.", name=name)
    elif lives_now and job.judged_at < scope.end - _A_LITTLE:
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
    if job.configuration and job.last_seen_at and job.last_seen_at > scope.end + timedelta(hours=1):
        yield message(
            "{name:name}: its configuration is that of {last_seen_at:name}; whether it was the "
            "same before is not known.",
            name=name,
            last_seen_at=instant_text(job.last_seen_at),
        )

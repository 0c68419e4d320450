from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from django.urls import reverse

from ingest.messages import Message, list_text, message, plural
from spark_jobs.diagnosis.failure_causes.table import cause_by_code
from spark_jobs.diagnosis.store_faults import (
    CHECKPOINT,
    EXHAUSTED,
    REFUSED,
    RETRIED,
    TASK,
    THROTTLED,
    TIMED_OUT,
)
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Advice,
    Block,
    Column,
    Document,
    Inputs,
    Link,
    Note,
    NotKnown,
    Table,
    Verdict,
)
from webapp.analyses.links import job_link
from webapp.findings.store_troubles import (
    CONNECTIONS,
    ENTROPY,
    UPLOAD_THREADS,
    StoreTrouble,
    first_set,
    store_troubles,
)
from webapp.fleet.choices import UNKNOWN_STATUS, UNWATCHED_STATUS
from webapp.fleet.models import OVER, JobCurrent

RECENT = timedelta(days=1)
MOST_JOBS, MOST_PREFIXES = 1_000, 3


@analysis(
    "object-stores",
    subject="fleet",
    title="Object stores",
    summary=(
        "buckets that throttle, refuse or do not answer requests, with the jobs and clusters that "
        "meet it"
    ),
)
def object_stores(inputs: Inputs) -> Document:
    troubles = store_troubles(inputs.now - RECENT)
    blocks: list[Block] = []
    if assumed_jobs := _count_assumed(troubles):
        blocks.append(
            NotKnown(
                plural(
                    assumed_jobs,
                    "For {count:count} job no text names the bucket. It is taken to be that of its "
                    "checkpoints, because the failed requests wrote them.",
                    "For {count:count} jobs no text names the bucket. It is taken to be that of "
                    "their checkpoints, because the failed requests wrote them.",
                )
            )
        )
    if troubles:
        blocks += [_stores(troubles), Advice(tuple(_advice(troubles))), _jobs(troubles)]
    blocks.append(_note())
    return Document(_verdict(troubles, inputs.now), tuple(blocks))


def _verdict(troubles: Sequence[StoreTrouble], now: datetime) -> Verdict:
    failing = [trouble for trouble in troubles if trouble.is_open]
    if not failing:
        running = JobCurrent.objects.with_status(now).exclude(OVER)
        if not running.filter(judged_at__isnull=False).exists():
            return Verdict("unknown", "No job is running.")
        if running.filter(status__in=(UNKNOWN_STATUS, UNWATCHED_STATUS)).exists():
            return Verdict(
                "unknown",
                "No bucket is known to fail requests, but not all jobs can be seen now.",
            )
        return Verdict("ok", "No bucket is known to fail requests of a job now.")
    worst = max(failing, key=lambda trouble: (len(trouble.jobs), trouble.count(CHECKPOINT, TASK)))
    is_costly = worst.count(CHECKPOINT, TASK) > 0
    return Verdict("crit" if is_costly and len(worst.jobs) > 1 else "warn", _sentence(worst))


def _sentence(trouble: StoreTrouble) -> Message:
    return message(
        "{title:message}: {jobs:message} in {clusters:message}.",
        title=trouble.findings[0].title,
        jobs=_count_jobs(len(trouble.jobs)),
        clusters=plural(len(trouble.clusters), "{count:count} cluster", "{count:count} clusters"),
    )


def _count_assumed(troubles: Sequence[StoreTrouble]) -> int:
    return len(
        {
            (finding.cluster, finding.first_attempt_id)
            for trouble in troubles
            for finding in trouble.findings
            if finding.data.get("is_assumed")
        }
    )


def _stores(troubles: Sequence[StoreTrouble]) -> Table:
    titles = {fault: cause_by_code(fault).title for fault in _FAULTS}

    def count(key: str, name: str, kind: str) -> Column:
        return Column(
            key,
            name,
            "count",
            "of the newest ten minutes of each job",
            lambda trouble: trouble.count(kind),
        )

    return Table.of(
        troubles,
        "stores",
        "Buckets",
        (
            Column("store", "Bucket", "mono", value="resource"),
            Column(
                "fault",
                "Fault",
                value=lambda trouble: titles.get(trouble.fault, trouble.fault),
            ),
            Column("open", "Open", "flag", value="is_open"),
            Column("jobs", "Jobs", "count", value=lambda trouble: len(trouble.jobs)),
            Column(
                "clusters",
                "Clusters",
                "count",
                value=lambda trouble: len(trouble.clusters),
            ),
            count("checkpoints", message("Checkpoints lost"), CHECKPOINT),
            count("failures", message("Failures of tasks"), TASK),
            count("retries", message("Retries"), RETRIED),
            Column(
                "prefixes",
                "Prefixes",
                "mono",
                value=lambda trouble: list_text(trouble.prefixes, MOST_PREFIXES),
            ),
            Column("first_seen", "First seen", "instant"),
            Column("last_seen", "Last seen", "instant"),
        ),
        subtitle="of the last day, those with most jobs first",
    )


def _jobs(troubles: Sequence[StoreTrouble]) -> Table:
    return Table.of(
        [finding for trouble in troubles for finding in trouble.findings],
        "jobs",
        "Jobs",
        (
            Column(
                "job",
                "Job",
                value=lambda finding: job_link(
                    finding.cluster, finding.job_id, finding.job_name or finding.job_id
                ),
            ),
            Column("cluster", "Cluster"),
            Column(
                "finding",
                "Finding",
                value=lambda finding: Link(finding.title, reverse("finding", args=(finding.pk,))),
            ),
            Column(
                "assumed",
                "Bucket assumed",
                "flag",
                value=lambda finding: bool(finding.data.get("is_assumed")),
            ),
            Column("last_seen", "Last seen", "instant"),
        ),
        most=MOST_JOBS,
    )


def _advice(troubles: Sequence[StoreTrouble]) -> Iterator[str]:
    advised = [trouble for trouble in troubles if trouble.is_open] or troubles
    by_fault = {
        fault: [trouble for trouble in advised if trouble.fault == fault] for fault in _FAULTS
    }
    for fault, of_fault in by_fault.items():
        if of_fault:
            yield cause_by_code(fault).next_step
    if throttled := by_fault[THROTTLED]:
        yield message(
            "S3 serves 3,500 writes and 5,500 reads a second for each prefix. The requests of all "
            "these jobs count together: start the jobs, and take their checkpoints, at different "
            "times."
        )
        if jobs_without := _count_unset(throttled, ENTROPY):
            yield message(
                "{key:name} is not set for {jobs:message}. With it, data files of checkpoints are "
                "spread over random prefixes. They then lie outside of the job's directory: "
                "clean-ups and lifecycle rules have to cover those prefixes.",
                key=ENTROPY[0],
                jobs=_count_jobs(jobs_without),
            )
    if by_fault[EXHAUSTED]:
        yield message(
            "The pool is {s3a:name} with S3A, {native:name} with the native S3 file system (Flink "
            "2.3 and later); set now: {values:text}. Upload threads of a subtask: {threads:name} "
            "(4 unless set).",
            s3a=CONNECTIONS[1],
            native=CONNECTIONS[0],
            values=_set_values(by_fault[EXHAUSTED]),
            threads=UPLOAD_THREADS[0],
        )


_FAULTS = (THROTTLED, EXHAUSTED, REFUSED, TIMED_OUT)


def _count_unset(troubles: Sequence[StoreTrouble], names: Sequence[str]) -> int:
    return len(
        {
            job
            for trouble in troubles
            if trouble.store.startswith("s3://")
            for job, settings in trouble.settings.items()
            if settings is not None and first_set(settings, names) is None
        }
    )


def _count_jobs(number: int) -> Message:
    return plural(number, "{count:count} job", "{count:count} jobs")


def _set_values(troubles: Sequence[StoreTrouble]) -> str:
    known = {
        value
        for trouble in troubles
        for settings in trouble.settings.values()
        if settings and (value := first_set(settings, CONNECTIONS))
    }
    return list_text(sorted(known)) if known else message("not known, or the default")


def _note() -> Note:
    return Note(
        "Faults that fail a task or a checkpoint are known from REST. Retries and warnings are "
        "known only where logs of TaskManagers are collected. Jobs are brought together by "
        "bucket, kind of fault and time; a bucket of S3's protocol also by the endpoint that "
        "its cluster configures."
    )

from collections.abc import Iterator

from django.urls import reverse

from ingest.messages import message
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Block,
    Column,
    Document,
    Inputs,
    Link,
    NotKnown,
    Table,
    Value,
    Verdict,
)
from webapp.analyses.links import job_link
from webapp.analyses.storage.root_retention import Retention, RunningJob, root_retention
from webapp.lib.quantities import duration_text
from webapp.storage.idle_snapshots import LAST, NEEDED, SUPERSEDED, UNKNOWN, EndedJob, KeptSavepoint
from webapp.storage.models import RootFigures

STANDING = {
    NEEDED: message("needed"),
    SUPERSEDED: message("superseded"),
    LAST: message("last of its job"),
    UNKNOWN: message("unknown"),
}


@analysis(
    "retention",
    subject="root",
    title="Retention",
    summary="what is there because nobody deletes it, and who may still need it",
)
def retention(figures: RootFigures, inputs: Inputs) -> Document:
    snapshots = root_retention(figures)
    return Document(_verdict(snapshots), tuple(_blocks(snapshots)))


def _verdict(snapshots: Retention) -> Verdict:
    if not snapshots.running:
        return Verdict(
            "done",
            "No job that has not ended writes to this root; snapshots of ended jobs are below.",
        )
    if snapshots.unsafe_age_ms is None:
        return Verdict(
            "unknown",
            "The age of the oldest file needed by a job that has not ended is not known.",
        )
    return Verdict(
        "warn",
        message(
            "A job that has not ended still needs a file written {age:name} before the audit: a "
            "rule with a lower age limit breaks its restore.",
            age=duration_text(snapshots.unsafe_age_ms),
        ),
    )


def _blocks(snapshots: Retention) -> Iterator[Block]:
    yield from (NotKnown(reason) for reason in snapshots.unknown)
    yield _savepoints(snapshots)
    yield _ended_table(snapshots)
    yield _running(snapshots)


def _owner_link(owner: EndedJob | RunningJob | KeptSavepoint) -> Value:
    text = getattr(owner, "name", None) or owner.job_id
    return job_link(owner.cluster, owner.job_id, text) if owner.cluster and owner.job_id else text


def _needed_by(owner: EndedJob | KeptSavepoint) -> str:
    return ", ".join(owner.needed_by)


def _savepoints(snapshots: Retention) -> Table:
    def xray(savepoint: KeptSavepoint) -> Link:
        return Link(savepoint.path, reverse("storage-xray", query={"path": savepoint.path}))

    return Table.of(
        snapshots.savepoints,
        "savepoints",
        "Savepoints",
        (
            Column("path", "Savepoint", "mono", value=xray),
            Column("job_id", "Job", "mono", value=_owner_link),
            Column("written", "Written", "instant"),
            Column("age_ms", "Age", "ms"),
            Column("bytes", "Size", "bytes"),
            Column("files", "Files", "count"),
            Column("standing", "Status", value=lambda savepoint: STANDING[savepoint.standing]),
            Column("needed_by", "Restored from it", "mono", "jobs that have not ended", _needed_by),
        ),
        subtitle="oldest first",
        empty="No savepoint lies in this root.",
        note=(
            "Needed: a job that has not ended was restored from it. Superseded: a newer snapshot "
            "of its job is whole, and nobody is known to need this one. Last of its job: no newer "
            "snapshot of it is whole."
        ),
    )


def _ended_table(snapshots: Retention) -> Table:
    return Table.of(
        snapshots.ended,
        "ended",
        "Ended jobs",
        (
            *_JOB_COLUMNS,
            Column("state", "Ended as"),
            Column("last_written", "Last written", "instant"),
            Column("idle_ms", "Idle", "ms"),
            Column("bytes", "Size", "bytes"),
            Column("checkpoints", "Checkpoints", "count"),
            Column("needed_by", "Needed by", "mono", value=_needed_by),
        ),
        subtitle="that keep checkpoints, idle longest first",
        empty="No ended job keeps files that something needs in this root.",
        note="Files that no job needs are of use only if somebody restores that job.",
    )


def _running(snapshots: Retention) -> Table:
    return Table.of(
        snapshots.running,
        "running",
        "Jobs that have not ended",
        (
            *_JOB_COLUMNS,
            Column("retained_on_cancellation", "Retained when cancelled", "flag"),
            Column(
                "retained",
                "Retained",
                "count",
                "completed checkpoints that Flink keeps, 1 unless set",
            ),
            Column("checkpoints", "Checkpoints", "count"),
            Column("bytes", "In its directory", "bytes"),
            Column("oldest_file", "Oldest file it needs", "instant"),
            Column("oldest_file_age_ms", "Its age", "ms"),
        ),
        subtitle="what they retain, most bytes first",
        empty="No job that has not ended writes to this root.",
        note="A job that fails for good retains its checkpoints, whatever is set for cancelled ones.",
    )


_JOB_COLUMNS = (
    Column("job", "Job", value=_owner_link),
    Column("job_id", "Id", "mono"),
    Column("cluster", "Cluster"),
)

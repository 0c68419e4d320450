"""The finding is only information if a later checkpoint of the chain is whole, as after CLAIM."""

from collections.abc import Iterator

from ingest.messages import message, plural
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related, Severity
from spark_jobs.diagnosis.rule import rule, sample_finding
from spark_jobs.diagnosis.storage_samples import TWO_DAYS_S, IncompleteSnapshot, StorageJobSample

RULE = "storage.missing_reference"
MOST_SHOWN = 10


@rule(
    RULE,
    message("Missing files"),
    message("A retained checkpoint or savepoint refers to files that are not in the storage."),
    fed_by="audits/1.20.5-H",
    hold_s=TWO_DAYS_S,
    judges=StorageJobSample,
)
def judge(sample: StorageJobSample, limits: Limits) -> Iterator[Finding]:
    snapshots = sorted(
        (snapshot for snapshot in sample.incomplete if snapshot.missing.files),
        key=lambda snapshot: (
            snapshot.superseded,
            not snapshot.is_newest,
            -(snapshot.checkpoint_id or 0),
            snapshot.path,
        ),
    )
    if snapshots:
        yield _finding(sample, snapshots)


def _finding(sample: StorageJobSample, snapshots: list[IncompleteSnapshot]) -> Finding:
    first = snapshots[0]
    name = _name(first)
    amount = message(
        "{files:message} ({bytes:bytes})", files=first.missing.files_text, bytes=first.missing.bytes
    )
    others_text = (
        message(
            ", and {incomplete:message} of this job",
            incomplete=plural(
                len(snapshots) - 1, "{count:count} more snapshot", "{count:count} more snapshots"
            ),
        )
        if len(snapshots) > 1
        else ""
    )
    evidence = [
        Evidence(message("missing files"), first.missing.files, "count", 1, ">=", note=first.path)
    ]
    if first.examples:
        evidence.append(Evidence(message("for example"), first.examples[0]))
    return sample_finding(
        sample,
        RULE,
        _severity(sample, first),
        title=message(
            "{name:opening} cannot be restored: {lacks:name} missing{more:message}",
            name=name,
            lacks=amount,
            more=others_text,
        ),
        cause=_cause(first),
        next_step=_next_step(sample, first),
        evidence=evidence,
        related=(
            *(
                Related(
                    "checkpoint",
                    _name(snapshot),
                    message(
                        "{files:message} missing; {path:name}",
                        files=snapshot.missing.files_text,
                        path=snapshot.path,
                    ),
                )
                for snapshot in snapshots[:MOST_SHOWN]
            ),
            *(
                Related("file", path, message("missing: whose, and what deleted it"))
                for path in first.examples
            ),
        ),
        data=sample.place,
    )


def _severity(sample: StorageJobSample, snapshot: IncompleteSnapshot) -> Severity:
    if snapshot.superseded:
        return "info"
    return "critical" if snapshot.is_newest and not sample.ended else "warning"


def _name(snapshot: IncompleteSnapshot) -> str:
    kind = message("savepoint") if snapshot.is_savepoint else message("checkpoint")
    number = snapshot.checkpoint_id
    name = snapshot.path.rsplit("/", 1)[-1] if number is None else str(number)
    return message("{kind:message} {rsplit:name}", kind=kind, rsplit=name)


def _cause(snapshot: IncompleteSnapshot) -> str:
    if snapshot.superseded:
        return message(
            "A later checkpoint of the same chain is whole, so nothing is lost. A restore "
            "in CLAIM mode leaves old checkpoints like this: Flink deletes files that they "
            "share with newer ones as those are subsumed."
        )
    return message(
        "Somebody or something has deleted files that this snapshot needs: a lifecycle rule "
        "or a clean-up by age, the removal of another job's directory that its files lie in, "
        "or an incomplete copy."
    )


def _next_step(sample: StorageJobSample, snapshot: IncompleteSnapshot) -> str:
    if snapshot.superseded:
        return message("Nothing. Restore from the newest checkpoint, not from this one.")
    if sample.ended:
        return message(
            "Bring the files back from a backup or older versions of the bucket if this snapshot "
            "is still wanted."
        )
    return message(
        "Do not stop, restart or upgrade this job before a savepoint has completed: it "
        "writes the full state again. Then stop what deletes files there."
    )

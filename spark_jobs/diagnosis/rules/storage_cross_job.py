"""Checkpoints of a job need files in the directories of other jobs, as CLAIM and LEGACY restores
leave it.

Incremental checkpoints work so by design. It is why an old job's directory must not be deleted by
hand or by age: it may hold the only copy of files that a running job restores from.
"""

from collections.abc import Iterator

from ingest.messages import brief, list_text, message, plural
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related, Severity, Threshold
from spark_jobs.diagnosis.rule import rule, stored_job_finding
from spark_jobs.diagnosis.storage_samples import TWO_DAYS_S, Dependence, StorageJobSample

RULE = "storage.cross_job"
MOST_SHOWN = 10


@rule(
    RULE,
    message("Needs files of other jobs"),
    message("Retained checkpoints of a job refer to files in the directories of other jobs."),
    fed_by="audits/1.20.5-H",
    hold_s=TWO_DAYS_S,
    judges=StorageJobSample,
    thresholds=(
        Threshold(
            f"{RULE}.files",
            1,
            "files",
            1,
            1_000_000,
            message("One file that is missing is enough to make a restore fail."),
        ),
        Threshold(
            f"{RULE}.chain",
            3,
            "jobs",
            1,
            1_000,
            message(
                "With three other jobs behind it, nobody remembers which directories a job needs."
            ),
        ),
    ),
)
def judge(sample: StorageJobSample, limits: Limits) -> Iterator[Finding]:
    files = sum(dependence.files for dependence in sample.depends_on)
    if files >= limits[f"{RULE}.files"]:
        yield _finding(sample, limits, files)


def _finding(sample: StorageJobSample, limits: Limits, files: int) -> Finding:
    at_ms, least, long = sample.audited_at_ms, f"{RULE}.files", f"{RULE}.chain"
    others = sorted(
        sample.depends_on, key=lambda dependence: (-dependence.bytes, dependence.job_id)
    )
    size = sum(dependence.bytes for dependence in others)
    severity: Severity = "warning" if sample.chain >= limits[long] and not sample.ended else "info"
    names = list_text(brief(dependence.job_name or dependence.job_id) for dependence in others)
    snapshots = message(
        "{dependent:number} of its {retained:message}",
        dependent=sample.dependent,
        retained=plural(
            sample.retained, "{count:count} retained snapshot", "{count:count} retained snapshots"
        ),
    )
    return stored_job_finding(
        sample,
        RULE,
        severity,
        title=message(
            "Checkpoints need {files:message} ({size:bytes}) of {others:message}",
            files=plural(files, "{count:count} file", "{count:count} files"),
            size=size,
            others=plural(len(others), "{count:count} other job", "{count:count} other jobs"),
        ),
        cause=message(
            "The job, or one before it, was restored in CLAIM or LEGACY mode from {names:name}, "
            "and its incremental checkpoints still share files with the snapshot it began with. "
            "{snapshots:message} cannot be restored without those files.",
            names=names,
            snapshots=snapshots,
        ),
        next_step=message(
            "Leave the directories of {names:name} alone, whatever their age. {independence:text}",
            names=names,
            independence=_independence(sample.ended),
        ),
        evidence=(
            limits.compared(message("files of other jobs"), files, "count", ">=", least, at_ms),
            Evidence(
                message("snapshots that need them"),
                sample.dependent,
                "count",
                at_ms=at_ms,
                note=message("of {retained:number} retained", retained=sample.retained),
            ),
            Evidence(message("bytes of other jobs"), size, "bytes", at_ms=at_ms),
            limits.compared(
                message("jobs behind this one"),
                sample.chain,
                "count",
                ">=",
                long,
                at_ms,
                message("each needed by the one before it"),
            ),
        ),
        related=tuple(
            Related("job", dependence.job_name or dependence.job_id, _note(dependence))
            for dependence in others[:MOST_SHOWN]
        ),
        data={
            "jobs": [
                {"job_id": dependence.job_id, "files": dependence.files, "bytes": dependence.bytes}
                for dependence in others[:MOST_SHOWN]
            ],
            "chain": sample.chain,
        },
    )


def _independence(ended: bool | None) -> str:
    """How to remove the references; a job that has ended takes no more checkpoints."""
    if ended is None:
        return message(
            "Whether the job still runs is not known: look in Flink first. Only a running job can "
            "take a full checkpoint."
        )
    if ended:
        return message(
            "The job has ended and takes no checkpoint any more. Keep these directories as long as "
            "one of its snapshots may be restored; a job that is restored from it in NO_CLAIM mode "
            "copies the files with its first checkpoint and needs them no longer."
        )
    return message(
        "To become independent of them, trigger a full checkpoint (`flink checkpoint "
        "--full <job id>`, 1.17 and later) or restore from a savepoint; the references "
        "go when the older checkpoints are subsumed."
    )


def _note(dependence: Dependence) -> str:
    state = {True: message("ended"), False: message("runs"), None: message("not known to Weir")}[
        dependence.ended
    ]
    return message(
        "{files:message}, {bytes:bytes}; {state:message}",
        files=plural(dependence.files, "{count:count} file", "{count:count} files"),
        bytes=dependence.bytes,
        state=state,
    )

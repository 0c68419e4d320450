from collections.abc import Iterator

from ingest.messages import brief, list_text, message, plural
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related
from spark_jobs.diagnosis.rule import rule, sample_finding
from spark_jobs.diagnosis.storage_samples import TWO_DAYS_S, Dependence, Share, StorageJobSample

RULE = "storage.cross_job"
LONG_CHAIN = 3
"""Nobody remembers the directories of so many jobs."""
MOST_SHOWN = 10


@rule(
    RULE,
    message("Needs files of other jobs"),
    message("Retained checkpoints of a job refer to files in the directories of other jobs."),
    fed_by="audits/1.20.5-H",
    hold_s=TWO_DAYS_S,
    judges=StorageJobSample,
)
def judge(sample: StorageJobSample, limits: Limits) -> Iterator[Finding]:
    files = sum(dependence.files for dependence in sample.depends_on)
    if not files:
        return
    dependences = sorted(
        sample.depends_on, key=lambda dependence: (-dependence.bytes, dependence.job_id)
    )
    size = sum(dependence.bytes for dependence in dependences)
    names = list_text(brief(dependence.job_name or dependence.job_id) for dependence in dependences)
    snapshots = message(
        "{dependent:number} of its {retained:message}",
        dependent=sample.dependent,
        retained=plural(
            sample.retained, "{count:count} retained snapshot", "{count:count} retained snapshots"
        ),
    )
    yield sample_finding(
        sample,
        RULE,
        "warning" if sample.chain >= LONG_CHAIN and not sample.ended else "info",
        title=message(
            "Checkpoints need {files:message} ({size:bytes}) of {others:message}",
            files=Share(files, size).files_text,
            size=size,
            others=plural(len(dependences), "{count:count} other job", "{count:count} other jobs"),
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
            Evidence(message("files of other jobs"), files, "count", 1, ">="),
            Evidence(
                message("jobs behind this one"),
                sample.chain,
                "count",
                note=message("each needed by the one before it"),
            ),
        ),
        related=tuple(
            Related("job", dependence.job_name or dependence.job_id, _note(dependence))
            for dependence in dependences[:MOST_SHOWN]
        ),
        data=sample.place
        | {
            "jobs": [
                {"job_id": dependence.job_id, "files": dependence.files}
                for dependence in dependences[:MOST_SHOWN]
            ]
        },
    )


def _independence(ended: bool | None) -> str:
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
        "To become independent of them, trigger a full checkpoint (flink checkpoint "
        "--full <job id>, 1.17 and later) or restore from a savepoint; the references "
        "go when the older checkpoints are subsumed."
    )


def _note(dependence: Dependence) -> str:
    state = {True: message("ended"), False: message("runs"), None: message("not known to Weir")}[
        dependence.ended
    ]
    return message(
        "{files:message}, {bytes:bytes}; {state:message}",
        files=Share(dependence.files).files_text,
        bytes=dependence.bytes,
        state=state,
    )

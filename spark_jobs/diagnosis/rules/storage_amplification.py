"""Merged checkpoint files are mostly dead: on disk they take a multiple of what checkpoints still
refer to.

With file merging (1.20 and later) one physical file holds segments of several checkpoints and lasts
until the last of them is gone.
"""

from collections.abc import Iterator

from ingest.messages import message, plural
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Severity, Threshold
from spark_jobs.diagnosis.rule import rule, stored_job_finding
from spark_jobs.diagnosis.storage_samples import TWO_DAYS_S, StorageJobSample

RULE = "storage.amplification"
KEYS = "execution.checkpointing.file-merging"


@rule(
    RULE,
    message("Merged files mostly unused"),
    message(
        "Merged checkpoint files of a job use a multiple of the bytes that its checkpoints refer "
        "to."
    ),
    fed_by="audits/1.20.5-K",
    hold_s=TWO_DAYS_S,
    judges=StorageJobSample,
    thresholds=(
        Threshold(
            f"{RULE}.ratio",
            2.5,
            "times",
            1,
            1_000,
            message(
                "Flink itself aims at 2 at most (max-space-amplification); a quarter more allows "
                "for what is being uploaded."
            ),
        ),
        Threshold(
            f"{RULE}.severe_ratio",
            6,
            "times",
            1,
            10_000,
            message("At six, five of six bytes stored are not needed."),
        ),
        Threshold(
            f"{RULE}.minimum_excess_bytes",
            10 << 20,
            "bytes",
            0,
            1 << 60,
            message("A few half-empty files are what merging always leaves."),
        ),
    ),
)
def judge(sample: StorageJobSample, limits: Limits) -> Iterator[Finding]:
    live, on_disk = sample.live_segment_bytes, sample.segmented.bytes
    excess = on_disk - live
    if (
        not live
        or on_disk / live < limits[f"{RULE}.ratio"]
        or excess < limits[f"{RULE}.minimum_excess_bytes"]
    ):
        return
    ratio, at_ms = on_disk / live, sample.audited_at_ms
    key, severe, least = f"{RULE}.ratio", f"{RULE}.severe_ratio", f"{RULE}.minimum_excess_bytes"
    severity: Severity = "warning" if ratio >= limits[severe] else "info"
    yield stored_job_finding(
        sample,
        RULE,
        severity,
        title=message(
            "Merged files hold {on_disk:bytes} for {live:bytes} of live state (× {ratio:decimal1})",
            on_disk=on_disk,
            live=live,
            ratio=ratio,
        ),
        cause=message(
            "Segments of subsumed checkpoints stay in a physical file until the last "
            "segment in it is released. Incremental state that compaction rewrites leaves "
            "most of each file unused."
        ),
        next_step=message(
            "Lower {keys:name}.max-file-size, so that fewer segments share a file, or "
            "{keys2:name}.max-space-amplification, at which Flink uploads live segments "
            "again; without {keys3:name}.across-checkpoint-boundary files are merged within "
            "one checkpoint only. Do not delete anything yourself: needed and unused segments "
            "are in the same files.",
            keys=KEYS,
            keys2=KEYS,
            keys3=KEYS,
        ),
        evidence=(
            limits.compared(message("amplification"), ratio, "times", ">=", key, at_ms),
            limits.compared(
                message("unused bytes in merged files"), excess, "bytes", ">=", least, at_ms
            ),
            Evidence(
                message("merged files on disk"),
                on_disk,
                "bytes",
                at_ms=at_ms,
                note=plural(sample.segmented.files, "{count:count} file", "{count:count} files"),
            ),
            Evidence(message("live segments"), live, "bytes", at_ms=at_ms),
        ),
        data={"ratio": ratio, "on_disk_bytes": on_disk, "live_bytes": live},
    )

from collections.abc import Iterator

from ingest.messages import message
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Threshold
from spark_jobs.diagnosis.rule import rule, sample_finding
from spark_jobs.diagnosis.storage_samples import TWO_DAYS_S, StorageJobSample

RULE = "storage.amplification"
RATIO = f"{RULE}.ratio"
EXCESS_BYTES = 10 << 20
"""A few half-empty files are what merging always leaves."""
SEVERE_RATIO = 6
"""Five of six bytes stored are not needed."""
PREFIX = "execution.checkpointing.file-merging"


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
            RATIO,
            2.5,
            "times",
            1,
            1_000,
            message(
                "Flink itself aims at 2 at most (max-space-amplification); a quarter more allows "
                "for what is being uploaded."
            ),
        ),
    ),
)
def judge(sample: StorageJobSample, limits: Limits) -> Iterator[Finding]:
    live_bytes, disk_bytes = sample.live_segment_bytes, sample.segmented.bytes
    excess = disk_bytes - live_bytes
    if not live_bytes or disk_bytes / live_bytes < limits[RATIO] or excess < EXCESS_BYTES:
        return
    ratio = disk_bytes / live_bytes
    yield sample_finding(
        sample,
        RULE,
        "warning" if ratio >= SEVERE_RATIO else "info",
        title=message(
            "Merged files hold {on_disk:bytes} for {live:bytes} of live state (× {ratio:decimal1})",
            on_disk=disk_bytes,
            live=live_bytes,
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
            keys=PREFIX,
            keys2=PREFIX,
            keys3=PREFIX,
        ),
        evidence=(
            limits.evidence(message("amplification"), ratio, RATIO),
            Evidence(message("unused bytes in merged files"), excess, "bytes", EXCESS_BYTES, ">="),
        ),
        data=sample.place,
    )

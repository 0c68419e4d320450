"""HDFS keeps each file in the NameNode's memory; object stores charge by request and throttle by
prefix.
"""

from collections.abc import Iterator

from ingest.messages import message, plural
from spark_jobs.diagnosis.findings import Finding, Limits, Threshold
from spark_jobs.diagnosis.rule import rule, sample_finding
from spark_jobs.diagnosis.storage_samples import TWO_DAYS_S, StorageJobSample

RULE = "storage.small_files"
FILES, CALLS_PER_S = f"{RULE}.files", f"{RULE}.calls_per_s"
VERY_MANY = 100_000
"""So many files of one job affect everybody who uses the same name service."""
SMALL_SHARE = 0.5
"""If most files are large, the small ones cost little."""


@rule(
    RULE,
    message("Many small files"),
    message(
        "The directory of a job holds thousands of files of at most 1 MiB, or writing them "
        "costs many calls per second."
    ),
    fed_by="incidents/1.20.5/small-files",
    hold_s=TWO_DAYS_S,
    judges=StorageJobSample,
    thresholds=(
        Threshold(
            FILES,
            1_000,
            "files",
            1,
            1_000_000_000,
            message("Some hundred small files are usual: one for each operator state and subtask."),
        ),
        Threshold(
            CALLS_PER_S,
            50,
            "calls/s",
            0.1,
            1_000_000,
            message(
                "A hundred such jobs make five thousand calls a second, a good part of what one "
                "NameNode answers."
            ),
        ),
    ),
)
def judge(sample: StorageJobSample, limits: Limits) -> Iterator[Finding]:
    share = sample.small_files / sample.all.files if sample.all.files else 0.0
    calls_per_s = None if sample.ended else sample.calls_per_s
    makes_many_calls = calls_per_s is not None and calls_per_s >= limits[CALLS_PER_S]
    if share < SMALL_SHARE or (sample.small_files < limits[FILES] and not makes_many_calls):
        return
    evidence = [limits.evidence(message("small files"), sample.small_files, FILES)]
    calls_text = ""
    if calls_per_s is not None:
        evidence.append(limits.evidence(message("name service"), calls_per_s, CALLS_PER_S))
        calls_text = message(
            " One checkpoint costs {calls:count} calls, {calls_per_s:count} a second at "
            "its interval; twice the interval would halve that.",
            calls=sample.calls or 0,
            calls_per_s=calls_per_s,
        )
    yield sample_finding(
        sample,
        RULE,
        "warning" if makes_many_calls or sample.small_files >= VERY_MANY else "info",
        title=message(
            "{small_files:message} of at most {small:name}, {share:share} of its files",
            small_files=plural(sample.small_files, "{count:count} file", "{count:count} files"),
            small="1 MiB",
            share=share,
        ),
        cause=message(
            "Each subtask writes each of its states to a file of its own, and RocksDB a file for "
            "each flush: high parallelism, many states and short checkpoint intervals multiply."
        ),
        next_step=message(
            "On 1.20 and later turn on execution.checkpointing.file-merging.enabled and watch the "
            "amplification. Else raise execution.checkpointing.data-inline-threshold "
            "(state.storage.fs.memory-threshold before 1.20; 20 kB by default, 1 MB at most), "
            "which moves small states into the _metadata, take checkpoints less often, or lower "
            "the parallelism of small operators."
        )
        + calls_text,
        evidence=evidence,
        data=sample.place,
    )

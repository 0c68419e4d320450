from collections.abc import Iterator

from ingest.messages import join_messages, message
from spark_jobs.diagnosis.findings import Evidence, Limits, Severity, Threshold
from spark_jobs.diagnosis.storage_samples import Share, StorageRootSample


def space_thresholds(
    rule: str, *, share: float, share_reason: str, high_share: float, high_share_reason: str
) -> tuple[Threshold, ...]:
    least_reason = message("Less than a mebibyte is not worth anybody's time.")
    large_reason = message(
        "From a hundred gibibytes on the space matters whatever its share of the root."
    )
    return (
        Threshold(f"{rule}.minimum_bytes", 1 << 20, "bytes", 0, 1 << 60, least_reason),
        Threshold(f"{rule}.share", share, "ratio", 0, 1, share_reason),
        Threshold(f"{rule}.high_share", high_share, "ratio", 0, 1, high_share_reason),
        Threshold(f"{rule}.large_bytes", 100 << 30, "bytes", 1, 1 << 62, large_reason),
    )


def severity_of_space(
    sample: StorageRootSample, part: Share, limits: Limits, rule: str
) -> Severity | None:
    """None if the part is too small for a finding."""
    share = _share_of_root(sample, part)
    is_large = part.bytes >= limits[f"{rule}.large_bytes"]
    if (
        not part.files
        or part.bytes < limits[f"{rule}.minimum_bytes"]
        or not (is_large or share >= limits[f"{rule}.share"])
    ):
        return None
    return "warning" if is_large or share >= limits[f"{rule}.high_share"] else "info"


def space_evidence(
    sample: StorageRootSample, part: Share, limits: Limits, rule: str, word: str
) -> Iterator[Evidence]:
    yield limits.evidence(
        message("{word:text} bytes", word=word), part.bytes, f"{rule}.minimum_bytes"
    )
    yield limits.evidence(
        message("share of the root"),
        _share_of_root(sample, part),
        f"{rule}.share",
        message("of {bytes:bytes}", bytes=sample.all.bytes),
    )
    yield Evidence(
        message("{word:text} files", word=word),
        part.files,
        "count",
        note=message("of {files:message}", files=sample.all.files_text),
    )


def _share_of_root(sample: StorageRootSample, part: Share) -> float:
    return part.bytes / sample.all.bytes if sample.all.bytes else 0.0


def clean_up_step(sample: StorageRootSample, what: str) -> str:
    barred = (
        message(
            " First resolve what prevents it: {reasons:message}",
            reasons=join_messages(sample.clean_up_barred_by, " "),
        )
        if sample.clean_up_barred_by
        else ""
    )
    return message(
        "Let Weir make a clean-up plan for {what:text}, read it and approve it: the button on "
        "the root's page, or manage.py plan_cleanup {root:name}. It moves the files into "
        "quarantine, from where they can be brought back.{barred:message} Do not delete by "
        "age: files of incremental checkpoints can be old and still be needed.",
        what=what,
        root=sample.root,
        barred=barred,
    )

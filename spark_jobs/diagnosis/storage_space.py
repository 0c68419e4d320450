"""Space that a part of a root takes for nothing: when that is worth a finding, and the figures that say so."""

from collections.abc import Iterator

from spark_jobs.diagnosis.findings import Evidence, Severity
from spark_jobs.diagnosis.storage_samples import Share, StorageRootSample
from spark_jobs.diagnosis.thresholds import Limits
from spark_jobs.diagnosis.wording import bytes_text, count_text


def severity_of_space(sample: StorageRootSample, part: Share, limits: Limits, rule: str) -> Severity | None:
    """By thresholds of ``rule``: minimum_bytes, share, high_share and large_bytes. None where it is too little to tell of."""
    share = _share_of_root(sample, part)
    large = part.bytes >= limits[f"{rule}.large_bytes"]
    if not part.files or part.bytes < limits[f"{rule}.minimum_bytes"] or not (large or share >= limits[f"{rule}.share"]):
        return None
    return "warning" if large or share >= limits[f"{rule}.high_share"] else "info"


def space_evidence(sample: StorageRootSample, part: Share, limits: Limits, rule: str, word: str) -> Iterator[Evidence]:
    """Bytes, share of the root and files; ``word`` names them, such as 'orphaned'."""
    at_ms, least, key = sample.audited_at_ms, f"{rule}.minimum_bytes", f"{rule}.share"
    share = _share_of_root(sample, part)
    yield Evidence(f"{word} bytes", part.bytes, "bytes", limits[least], ">=", least, at_ms)
    yield Evidence("share of the root", share, "ratio", limits[key], ">=", key, at_ms, f"of {bytes_text(sample.all.bytes)}")
    yield Evidence(f"{word} files", part.files, "count", at_ms=at_ms, note=f"of {count_text(sample.all.files, 'file')}")


def _share_of_root(sample: StorageRootSample, part: Share) -> float:
    return part.bytes / sample.all.bytes if sample.all.bytes else 0.0

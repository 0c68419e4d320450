"""What merging files would save in a root, by its histogram of sizes, and what compacting merged
ones would free. Of one audit; bounded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from webapp.storage.models import MergedFile, RootFigures

LARGEST_BYTES = 32 << 20
"""``execution.checkpointing.file-merging.max-file-size`` of Flink where nothing is set."""
LIMITS = (64 << 10, 1 << 20, LARGEST_BYTES)


@dataclass(frozen=True)
class MergeBenefit:
    """Files of at most ``up_to_bytes``. ``least``: how few they could be, merged into files of 32
    MiB, but one for each retained checkpoint, since by default no file is written into by a later
    one.
    """

    up_to_bytes: int
    files: int
    bytes: int
    least: int

    @property
    def saved(self) -> int:
        return self.files - self.least

    @property
    def saved_share(self) -> float:
        return self.saved / self.files if self.files else 0.0


@dataclass(frozen=True)
class Merging:
    """``worth_compacting``: at most 100, those with most that is not needed first."""

    benefits: tuple[MergeBenefit, ...]
    merged_files: int
    on_disk_bytes: int
    live_bytes: int
    worth_compacting: tuple[MergedFile, ...]

    @property
    def freed_bytes(self) -> int:
        """Of those that are listed."""
        return sum(file.unused_bytes for file in self.worth_compacting)

    @property
    def best(self) -> MergeBenefit | None:
        """Where most files would be saved."""
        return max(
            (benefit for benefit in self.benefits if benefit.saved),
            key=lambda benefit: benefit.saved,
            default=None,
        )


def root_merging(figures: RootFigures) -> Merging:
    """One query."""
    rows = MergedFile.objects.filter(audit=figures.audit, root=figures.root).order_by(
        "-unused_bytes", "id"
    )
    return Merging(
        merge_benefits(figures.size_histogram, figures.checkpoints, figures.metadata_files),
        figures.segmented_files,
        figures.segmented_file_bytes,
        figures.live_segment_bytes,
        tuple(rows),
    )


def merge_benefits(
    histogram: Sequence[dict[str, Any]], checkpoints: int, metadata_files: int
) -> tuple[MergeBenefit, ...]:
    """``histogram``: [{le_bytes, files, bytes}].

    A ``_metadata`` is never merged: as many files stay besides those of data.
    """
    benefits = []
    for limit in LIMITS:
        steps = [step for step in histogram if step["le_bytes"] <= limit]
        files, size = sum(step["files"] for step in steps), sum(step["bytes"] for step in steps)
        kept = min(files, metadata_files)
        of_data = min(files - kept, max(-(-size // LARGEST_BYTES), checkpoints))
        if files:
            benefits.append(MergeBenefit(limit, files, size, kept + of_data))
    return tuple(benefits)

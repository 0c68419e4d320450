"""How large the files of a root are, what merging them would save, and what merged ones waste."""

from collections.abc import Iterator

from ingest.messages import message, plural
from webapp.analyses.declaration import root_analysis
from webapp.analyses.document import (
    Asked,
    Block,
    Chart,
    Column,
    Document,
    Drawn,
    Fact,
    Facts,
    Table,
    Verdict,
)
from webapp.analyses.storage.root_merging import Merging, root_merging
from webapp.charts.storage import SizeStep, file_sizes
from webapp.lib.quantities import binary_text
from webapp.storage.models import RootFigures


@root_analysis(
    "merging",
    title=message("Merging"),
    summary=message("what merging small files would save, and what in merged files nobody needs"),
)
def merging(figures: RootFigures, asked: Asked) -> Document:
    merge_figures = root_merging(figures)
    return Document(_verdict(merge_figures), tuple(_blocks(merge_figures)))


@merging.draws("sizes")
def sizes(figures: RootFigures, asked: Asked) -> Drawn:
    steps = [
        SizeStep(one["le_bytes"], one["files"], one["bytes"]) for one in figures.size_histogram
    ]
    if not steps:
        return Drawn(
            empty_title=message("No files"), empty_text=message("The last audit found none.")
        )
    return Drawn(file_sizes(_filled(steps)))


def _filled(steps: list[SizeStep]) -> list[SizeStep]:
    """Empty steps between others are drawn as such."""
    known = {step.le_bytes: step for step in steps}
    first, last = min(known).bit_length(), max(known).bit_length()
    powers = [1 << bit - 1 for bit in range(first, last + 1)] if min(known) > 0 else sorted(known)
    return [known.get(power, SizeStep(power, 0, 0)) for power in powers]


def _verdict(merge_figures: Merging) -> Verdict:
    """Only what is worth compacting wastes bytes; small files are calls to the file system."""
    if merge_figures.worth_compacting:
        files = len(merge_figures.worth_compacting)
        sentence = plural(
            files,
            "Compacting {files:count} merged file would free {freed:bytes}.",
            "Compacting {files:count} merged files would free {freed:bytes}.",
            files=files,
            freed=merge_figures.freed_bytes,
        )
        return Verdict("warn", sentence)
    if (best := merge_figures.best) is not None:
        sentence = message(
            "Of {files:count} files of at most {limit:name} merging would leave {least:count} at "
            "least.",
            files=best.files,
            limit=binary_text(best.up_to_bytes),
            least=best.least,
        )
        return Verdict("done", sentence)
    neither = message(
        "There are no small files that merging would save, and no merged file is worth compacting."
    )
    return Verdict("ok", neither)


def _blocks(merge_figures: Merging) -> Iterator[Block]:
    yield Chart(
        "sizes",
        message("File sizes"),
        subtitle=message("physical files on disk by size, steps of two"),
    )
    yield _benefits(merge_figures)
    if merge_figures.merged_files:
        yield Facts(
            (
                Fact("merged_files", message("Merged files"), merge_figures.merged_files, "count"),
                Fact("on_disk_bytes", message("On disk"), merge_figures.on_disk_bytes, "bytes"),
                Fact(
                    "live_bytes",
                    message("Needed"),
                    merge_figures.live_bytes,
                    "bytes",
                    message("by retained checkpoints"),
                ),
                Fact(
                    "freed_bytes",
                    message("Freed by compacting"),
                    merge_figures.freed_bytes,
                    "bytes",
                    message("those below"),
                ),
            )
        )
        yield _worth_compacting(merge_figures)


def _benefits(merge_figures: Merging) -> Table:
    return Table(
        "benefits",
        message("Small files"),
        (
            Column("up_to_bytes", message("Files of at most"), "binary"),
            Column("files", message("Now"), "count"),
            Column("bytes", message("Size"), "bytes"),
            Column("least", message("Merged, at least"), "count"),
            Column("saved", message("Fewer"), "count"),
            Column("saved_share", message("Share"), "share"),
        ),
        tuple(
            (
                benefit.up_to_bytes,
                benefit.files,
                benefit.bytes,
                benefit.least,
                benefit.saved,
                benefit.saved_share,
            )
            for benefit in merge_figures.benefits
        ),
        empty=message("No file below this root is smaller than 32 MiB."),
        note=message(
            "Merged into files of 32 MiB, one for each retained checkpoint and its _metadata at "
            "least. execution.checkpointing.file-merging.enabled (1.20 and later) merges what one "
            "TaskManager writes for one checkpoint; the page File system calls of each job has "
            "its own figure."
        ),
    )


def _worth_compacting(merge_figures: Merging) -> Table:
    return Table(
        "worth_compacting",
        message("Merged files worth compacting"),
        (
            Column("path", message("File"), "mono"),
            Column("job_id", message("Job"), "mono"),
            Column("unused_bytes", message("Freed"), "bytes"),
            Column("bytes", message("On disk"), "bytes"),
            Column("live_segment_bytes", message("Needed"), "bytes"),
            Column("amplification", message("Amplified"), "factor"),
            Column("checkpoints", message("Checkpoints"), "count"),
        ),
        tuple(
            (
                file.path,
                file.job_id,
                file.unused_bytes,
                file.bytes,
                file.live_segment_bytes,
                file.amplification,
                file.checkpoints,
            )
            for file in merge_figures.worth_compacting
        ),
        subtitle=message("most that is not needed first"),
        empty=message("Retained checkpoints need every byte of them."),
        note=message(
            "Flink writes live segments again where "
            "execution.checkpointing.file-merging.max-space-amplification (2) is lower than the "
            "amplification, or with a savepoint that the job is restored from."
        ),
    )

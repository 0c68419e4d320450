"""A dry run: what the files of a plan look like now.

Only a fresh audit can say which of them would go.
"""

from collections import Counter

from ingest.storage.tree import TreeError
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Files, Places, Planned, TreeFiles
from webapp.cleanup.plan_reader import PlanReader


def dry_run(reader: PlanReader, files: Files | None = None) -> dict[str, int]:
    """Files by what would be found of them, and the bytes of those that are as planned.

    Raises ``PlanDamaged``.
    """
    files = files or TreeFiles.of(reader.manifest)
    places = Places(reader.manifest, reader.name)
    counts: Counter[str] = Counter()
    for chunk in reader.chunks():
        for row in chunk.rows.to_pylist():
            file = places.of(row)
            looks = _looks(files, file)
            counts[looks] += 1
            if looks == "unchanged":
                counts["unchanged_bytes"] += file.bytes
    words = (
        "unchanged",
        "unchanged_bytes",
        FileOutcome.CHANGED,
        FileOutcome.GONE,
        FileOutcome.LINKED,
        FileOutcome.FAILED,
    )
    return {str(word): counts[word] for word in words}


def _looks(files: Files, file: Planned) -> str:
    try:
        if files.is_behind_link(file.base, file.source):
            return FileOutcome.LINKED
        now = files.stat(file.source)
    except TreeError:
        return FileOutcome.FAILED
    if now is None:
        return FileOutcome.GONE
    return "unchanged" if now == file.stat else FileOutcome.CHANGED

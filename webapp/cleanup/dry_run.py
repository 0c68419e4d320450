"""A dry run: what the files of a plan look like now. Only a fresh audit can say which of them would go."""

from collections import Counter

from ingest.storage.tree import TreeError
from webapp.cleanup.outcomes import Outcome
from webapp.cleanup.places import Files, Places, Planned, TreeFiles
from webapp.cleanup.plan_reader import PlanReader


def look_ahead(reader: PlanReader, files: Files | None = None) -> dict[str, int]:
    """Files by what would be found of them, and the bytes of those that are as planned. Raises ``PlanDamaged``."""
    files = files or TreeFiles()
    places = Places(reader.manifest, reader.name)
    found: Counter[str] = Counter()
    for chunk in reader.chunks():
        for row in chunk.rows.to_pylist():
            file = places.of(row)
            looks = _looks(files, file)
            found[looks] += 1
            if looks == "unchanged":
                found["unchanged_bytes"] += file.bytes
    words = ("unchanged", "unchanged_bytes", Outcome.CHANGED, Outcome.GONE, Outcome.LINKED, Outcome.FAILED)
    return {str(word): found[word] for word in words}


def _looks(files: Files, file: Planned) -> str:
    try:
        if files.is_behind_link(file.base, file.source):
            return Outcome.LINKED
        now = files.stat(file.source)
    except TreeError:
        return Outcome.FAILED
    if now is None:
        return Outcome.GONE
    return "unchanged" if now == file.stat else Outcome.CHANGED

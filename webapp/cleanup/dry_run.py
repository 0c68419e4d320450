"""A dry run: what the files of a plan look like now.

Only a fresh audit can say which of them would go.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from ingest.storage.buckets import Bucket
from ingest.storage.tree import Stat, TreeError
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Places, Planned, TreeFiles
from webapp.cleanup.plan_reader import PlanReader


def dry_run(reader: PlanReader) -> dict[str, int]:
    """Number of files by expected outcome, and the bytes of those that are as planned.

    Raises ``PlanDamaged``.
    """
    files = TreeFiles.of(reader.manifest)
    places = Places(reader.manifest, reader.name)
    counts: Counter[str] = Counter()
    for chunk in reader.chunks():
        planned = map(places.of, chunk.rows.to_pylist())
        for _, of_root in groupby(planned, key=lambda file: file.root):
            own = list(of_root)
            for file, looks in zip(own, _looks(files, own), strict=True):
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


def _looks(files: TreeFiles, of_root: Sequence[Planned]) -> list[str]:
    bucket = Bucket.of(of_root[0].source)
    if bucket is None:
        return [_looks_alone(files, file) for file in of_root]
    keys = [bucket.key(file.source) for file in of_root]
    try:
        found: Mapping[str, Stat] = bucket.stats(keys)
    except OSError:
        return [FileOutcome.FAILED] * len(keys)
    return [_word(file, found.get(key)) for file, key in zip(of_root, keys, strict=True)]


def _looks_alone(files: TreeFiles, file: Planned) -> str:
    try:
        if files.is_behind_link(file.base, file.source):
            return FileOutcome.LINKED
        return _word(file, files.stat(file.source))
    except TreeError:
        return FileOutcome.FAILED


def _word(file: Planned, now: Stat | None) -> str:
    if now is None:
        return FileOutcome.GONE
    return "unchanged" if now == file.stat else FileOutcome.CHANGED

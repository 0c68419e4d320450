"""Counts how many files of a plan are unchanged. Only a fresh audit can say which would be moved."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from ingest.storage.buckets import Bucket
from ingest.storage.tree import Stat, TreeError
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Places, Planned, TreeFiles
from webapp.cleanup.plan_reader import PlanReader


def dry_run(reader: PlanReader) -> dict[str, int]:
    """Number of files by state, and the bytes of unchanged files. Raises ``PlanDamaged``."""
    files = TreeFiles.of(reader.manifest)
    places = Places(reader.manifest, reader.name)
    counts: Counter[str] = Counter()
    for chunk in reader.chunks():
        planned = map(places.of, chunk.rows.to_pylist())
        for _, group in groupby(planned, key=lambda file: file.root):
            root_files = list(group)
            for file, state in zip(root_files, _states(files, root_files), strict=True):
                counts[state] += 1
                if state == "unchanged":
                    counts["unchanged_bytes"] += file.bytes
    names = (
        "unchanged",
        "unchanged_bytes",
        FileOutcome.CHANGED,
        FileOutcome.GONE,
        FileOutcome.LINKED,
        FileOutcome.FAILED,
    )
    return {str(name): counts[name] for name in names}


def _states(files: TreeFiles, root_files: Sequence[Planned]) -> list[str]:
    bucket = Bucket.of(root_files[0].source)
    if bucket is None:
        return [_state_in_tree(files, file) for file in root_files]
    keys = [bucket.key(file.source) for file in root_files]
    try:
        stats: Mapping[str, Stat] = bucket.stats(keys)
    except OSError:
        return [FileOutcome.FAILED] * len(keys)
    return [_state(file, stats.get(key)) for file, key in zip(root_files, keys, strict=True)]


def _state_in_tree(files: TreeFiles, file: Planned) -> str:
    try:
        if files.is_behind_link(file.base, file.source):
            return FileOutcome.LINKED
        return _state(file, files.stat(file.source))
    except TreeError:
        return FileOutcome.FAILED


def _state(file: Planned, stat: Stat | None) -> str:
    if stat is None:
        return FileOutcome.GONE
    return "unchanged" if stat == file.stat else FileOutcome.CHANGED

"""Follow the archive directory of finished jobs: read what is new, remember what was read."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ingest.cluster_run import ClusterRun
from ingest.errors import Skipped
from ingest.flink_rest.assembly import observe_job
from ingest.history.archive import job_readings
from ingest.history.listing import ArchiveDirectory, ArchiveFile
from ingest.messages import message, plural
from ingest.records import Observed, Skip
from ingest.source_read import ProbeNotes, SourceRead

MAX_ARCHIVE_BYTES = 128 * 1024 * 1024
MAX_BYTES_PER_CYCLE = 256 * 1024 * 1024
MAX_FILES_PER_CYCLE = 1_000


def read_new(run: ClusterRun) -> SourceRead:
    return read_archives(
        run.cluster.archive_dir, run.cluster.name, run.part("archive"), run.shard.at()
    )


def probe(run: ClusterRun, notes: ProbeNotes) -> None:
    files = ArchiveDirectory(run.cluster.archive_dir).files()
    notes.sees.append(
        message(
            "archive directory: {files:message}",
            files=plural(len(files), "{count:count} archived job", "{count:count} archived jobs"),
        )
    )


def read_archives(
    directory: str, cluster: str, cursor: Mapping[str, Any] | None, at: datetime
) -> SourceRead:
    """Archives that are new or changed since ``cursor``. Records are observed at the end of their
    job. A bad archive is a skip and is not tried again until it changes; a directory that cannot be
    listed leaves the cursor as it is.
    """
    known = _stamps(cursor)
    try:
        archives = ArchiveDirectory(directory)
        files = archives.files()
    except Skipped as error:
        return SourceRead((), {"files": known}, (Skip(directory, "unreadable_file", str(error)),))
    due = [file for file in files if known.get(file.name) != file.stamp]
    taken = _within_bounds(due)
    observed: list[Observed] = []
    skips: list[Skip] = []
    for file in taken:
        _read(archives, file, cluster, at, observed, skips)
    # Only files that are still there, or the cursor would grow with every job that ever ran.
    stamps = {file.name: known[file.name] for file in files if file.name in known} | {
        file.name: file.stamp for file in taken
    }
    return SourceRead(
        tuple(observed), {"files": stamps}, tuple(skips), behind=len(taken) < len(due)
    )


def _read(
    archives: ArchiveDirectory,
    file: ArchiveFile,
    cluster: str,
    at: datetime,
    observed: list[Observed],
    skips: list[Skip],
) -> None:
    try:
        readings, bad = job_readings(archives.read(file, MAX_ARCHIVE_BYTES), file.changed_at or at)
    except Skipped as error:
        skips.append(
            Skip(
                file.path,
                "too_large" if file.size_bytes > MAX_ARCHIVE_BYTES else "unreadable_file",
                str(error),
            )
        )
        return
    skips.extend(Skip(f"{file.path}#{skip.subject}", skip.reason, skip.detail) for skip in bad)
    for reading in readings:
        observed.extend(observe_job(reading, cluster, "history"))


def _within_bounds(due: list[ArchiveFile]) -> list[ArchiveFile]:
    taken: list[ArchiveFile] = []
    budget_bytes = MAX_BYTES_PER_CYCLE
    for file in due[:MAX_FILES_PER_CYCLE]:
        if taken and file.size_bytes > budget_bytes:
            break
        taken.append(file)
        budget_bytes -= min(file.size_bytes, MAX_ARCHIVE_BYTES)
    return taken


def _stamps(cursor: Mapping[str, Any] | None) -> dict[str, str]:
    files = (cursor or {}).get("files")
    return (
        {str(name): str(stamp) for name, stamp in files.items()} if isinstance(files, dict) else {}
    )

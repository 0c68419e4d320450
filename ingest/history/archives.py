"""Follow the archive directory of finished jobs: read what is new, remember what was read."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import aiohttp

from ingest.cluster_run import ClusterRun
from ingest.errors import Skipped
from ingest.flink_logs.files import why
from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.assembly import observe_job
from ingest.flink_rest.job_reader import listed_jobs
from ingest.flink_rest.payloads import jobs
from ingest.flink_rest.payloads.fields import Fields, elements
from ingest.flink_rest.routing import file_job_answer, is_read, job_of
from ingest.json_bounds import MAX_HELD_BYTES, TooManyValues, decoded
from ingest.local_directories import NotAllowed, check_file, local_path
from ingest.messages import message, plural
from ingest.network.filesystems import filesystem_of
from ingest.network.unopened import as_os_error
from ingest.records import Observed, Skip
from ingest.redaction.texts import redact
from ingest.regular_files import open_regular
from ingest.source_declaration import ProbeNotes, SourceRead
from ingest.storage.directories import Kind, Local
from ingest.storage.instants import modified_at

# Up to 2.2 <dir>/<job id>; from 2.3 <dir>/<cluster id>/applications/<application id>/jobs/<job id>.
_ARCHIVE = re.compile(r"(?:[^/]+/applications/[^/]+/jobs/)?[0-9a-f]{32}")
_DEEPEST = 5


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """``name`` is the path below the directory, ``stamp`` differs whenever the content may have
    changed.
    """

    name: str
    path: str
    size_bytes: int
    changed_at: datetime | None
    stamp: str


class ArchiveDirectory:
    """A local path or any fsspec URI. Raises ``Skipped`` where it cannot be reached."""

    def __init__(self, directory: str) -> None:
        self._directory, self._is_local = directory, local_path(directory) is not None
        try:
            self._filesystem, self._root = filesystem_of(directory)
            if self._is_local:
                check_file(self._root)
        except NotAllowed as error:
            raise Skipped(str(error)) from error
        except (OSError, ValueError, ImportError, aiohttp.ClientError) as error:
            raise self._unreachable(error) from error

    def files(self) -> list[ArchiveFile]:
        root = self._root.rstrip("/")
        try:
            # The listing may be cached from the cycle before.
            with as_os_error():
                self._filesystem.invalidate_cache()
                if not self._filesystem.isdir(self._root):
                    raise FileNotFoundError(message("there is no such directory"))
                listed = self._found()
        except (OSError, ValueError, aiohttp.ClientError) as error:
            raise self._unreachable(error) from error
        return sorted(_archives(listed, root), key=lambda file: file.name)

    def read(self, file: ArchiveFile, max_bytes: int) -> bytes:
        """Raises ``Skipped`` where it is larger than ``max_bytes`` or cannot be read."""
        try:
            with as_os_error(), self._opened(file.path) as handle:
                content: bytes = handle.read(max_bytes + 1)
        except NotAllowed as error:
            raise Skipped(str(error)) from error
        except (OSError, ValueError, aiohttp.ClientError) as error:
            raise Skipped(
                message(
                    "the archive cannot be read ({why:name}); check its permissions",
                    why=why(error, remote="://" in file.path),
                )
            ) from error
        if len(content) > max_bytes:
            raise Skipped(
                message(
                    "the archive is larger than {max_bytes:number} bytes and is not read",
                    max_bytes=max_bytes,
                )
            )
        return content

    def _found(self) -> dict[str, dict[str, Any]]:
        if not self._is_local:
            files: dict[str, dict[str, Any]] = self._filesystem.find(
                self._root, maxdepth=_DEEPEST, detail=True
            )
            return files
        return {f"{self._root.rstrip('/')}{name}": info for name, info in _below(Local(self._root))}

    def _opened(self, path: str) -> Any:
        return (
            open_regular(path, self._root, check=check_file)
            if self._is_local
            else self._filesystem.open(path)
        )

    def _unreachable(self, error: Exception) -> Skipped:
        problem = why(error, remote="://" in self._directory)
        return Skipped(
            message(
                "{redact:name} cannot be listed ({problem:name}); check jobmanager.archive.fs.dir "
                "and its permissions",
                redact=redact(self._directory),
                problem=problem,
            )
        )


def _below(listable: Local) -> Iterator[tuple[str, dict[str, Any]]]:
    """Files by their path below the directory; links are not followed."""
    pending = [("", 1)]
    while pending:
        folder, depth = pending.pop()
        for entry in listable.entries(folder):
            name = f"{folder}/{entry.name}"
            if entry.kind is Kind.FILE:
                yield name, {"size": entry.bytes, "mtime": entry.modified}
            elif entry.kind is Kind.DIRECTORY and depth < _DEEPEST:
                pending.append((name, depth + 1))


def _archives(listed: dict[str, dict[str, Any]], root: str) -> Iterator[ArchiveFile]:
    for path, info in listed.items():
        name = path[len(root) :].lstrip("/")
        if _ARCHIVE.fullmatch(name):
            changed_at = modified_at(info)
            size = int(info.get("size") or 0)
            yield ArchiveFile(
                name,
                path,
                size,
                changed_at,
                f"{size}|{changed_at.timestamp() if changed_at else ''}",
            )


MAX_SKIPS = 100


def job_readings(content: bytes, at: datetime) -> tuple[list[JobAnswers], list[Skip]]:
    """What an archive holds of its job (in principle, of several): one reading each, and the
    skipped documents.

    The job stands as it ended, so the time of observation is its end, or ``at`` where that is
    unknown. Raises ``Skipped`` where the file is no archive, for example because Flink has not
    finished writing it.
    """
    skips: list[Skip] = []
    documents = dict(_documents(content, skips))
    overviews = _overviews(documents.pop("/jobs/overview", None), at, skips)
    configuration = documents.pop("/jobmanager/config", None)
    job_ids = dict.fromkeys(
        [*overviews, *(job_id for path in documents if (job_id := job_of(path)))]
    )
    readings = []
    for job_id in job_ids:
        overview = overviews.get(job_id)
        ended_at = (
            _ended_at(documents.get(f"/jobs/{job_id}"))
            or (_ended_at(overview) if overview else None)
            or at
        )
        reading = JobAnswers(job_id)
        reading.overview = Answer("/jobs/overview", ended_at, overview) if overview else None
        reading.jobmanager_config = (
            Answer("/jobmanager/config", ended_at, configuration) if configuration else None
        )
        for path, body in documents.items():
            if job_of(path) == job_id:
                file_job_answer(reading, Answer(path, ended_at, body))
        readings.append(reading)
    return readings, skips


def _overviews(body: Any, at: datetime, skips: list[Skip]) -> dict[str, Any]:
    if body is None:
        return {}
    listed, bad = listed_jobs(Answer("/jobs/overview", at, body))
    skips.extend(bad)
    return {job.job_id: job.answer.body for job in listed}


def _documents(content: bytes, skips: list[Skip]) -> Iterator[tuple[str, Any]]:
    try:
        document, left = decoded(content)
        archive = Fields(document)
    except TooManyValues as error:
        raise Skipped(message("the archive is not read: {error:text}", error=str(error))) from None
    except (ValueError, RecursionError):
        raise Skipped(
            message("the file is not a JSON document; Flink may still be writing it")
        ) from None
    left = MAX_HELD_BYTES - left
    for place, entry in elements(archive.raw("archive"), "archive"):
        try:
            fields = Fields(entry, place)
            path, document = fields.the_text("path"), fields.raw("json")
        except Skipped as error:
            skips.append(Skip(place, "bad_payload", str(error)))
            continue
        if is_read(path):
            try:
                body, held_bytes = decoded(document.encode())
                left -= held_bytes
                if left < 0:
                    raise Skipped(
                        message(
                            "the archive is not read: its documents take more than "
                            "{max_held_bytes:count} bytes",
                            max_held_bytes=MAX_HELD_BYTES,
                        )
                    )
                yield path, body
            except TooManyValues as error:
                skips.append(
                    Skip(
                        path,
                        "too_large",
                        message(
                            "the archived document is not read: {error:text}", error=str(error)
                        ),
                    )
                )
            except (ValueError, AttributeError, RecursionError):
                skips.append(Skip(path, "bad_json", message("the archived document is not JSON")))
        if len(skips) > MAX_SKIPS:
            skips.append(
                Skip(
                    place,
                    "more",
                    message(
                        "More than {max_skips:number} documents could not be read; the rest is not "
                        "tried.",
                        max_skips=MAX_SKIPS,
                    ),
                )
            )
            return


def _ended_at(job: Any) -> datetime | None:
    try:
        return jobs.job_state(job).end_time
    except Skipped:
        return None


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

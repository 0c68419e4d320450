"""Archives of finished jobs below ``jobmanager.archive.fs.dir``, wherever that is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import aiohttp

from ingest.errors import Skipped
from ingest.flink_logs.files import why
from ingest.local_directories import NotAllowed, check_file, local_path
from ingest.messages import message
from ingest.network.filesystems import filesystem_of
from ingest.network.unopened import as_os_error
from ingest.redaction.texts import redact
from ingest.regular_files import open_regular
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

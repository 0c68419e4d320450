"""Parses a path, or an exception that contains one, and finds its registered root."""

import re
from dataclasses import dataclass

from django.utils.translation import gettext

from ingest.storage.layout import JOB_DIRECTORY, METADATA_NAME, PLACES, UNKNOWN
from ingest.uris import BadUri, is_below
from spark_jobs.diagnosis.missing_files import missing_file
from webapp.lib.storage_uris import canonical
from webapp.storage.models import StorageRoot

_WITHOUT_AUTHORITY = ("hdfs", "viewfs", "webhdfs")
_SNAPSHOT = re.compile(r"/(?:chk-\d+|savepoint-[^/]+)\Z")
_DIRECTORY = re.compile(JOB_DIRECTORY)
_PLACES = tuple((place.name, re.compile(place.pattern)) for place in PLACES)


@dataclass(frozen=True)
class NamedFile:
    """``place``: name of a place in :mod:`ingest.storage.layout`; ``directory``, ``job_id``: the
    job's directory that contains the file, and its id; ``root``: the registered root, or None.
    """

    path: str
    place: str
    job_id: str | None
    directory: str | None
    root: StorageRoot | None


def named_file(entered: str) -> NamedFile:
    """Raises :class:`BadUri` if the text contains no path of a file."""
    text = entered.strip()
    path_in_text = missing_file(text) or text
    roots = list(StorageRoot.objects.all())
    path = canonical(path_in_text)
    if _SNAPSHOT.search(path):
        # A checkpoint or savepoint as a whole is its _metadata.
        path = f"{path}/{METADATA_NAME}"
    root = _root_of(path, roots)
    if root is None and path_in_text.startswith("/"):
        # Exceptions of a NameNode contain a path without scheme and authority.
        for root_row in roots:
            scheme, _, location = root_row.uri.partition("://")
            authority, slash, below = location.partition("/")
            if scheme in _WITHOUT_AUTHORITY and is_below(
                path.removeprefix("file:"), slash + below or "/"
            ):
                path, root = f"{scheme}://{authority}{path.removeprefix('file:')}", root_row
                break
    if "/" not in path.removeprefix("file:").strip("/"):
        raise BadUri(
            text,
            gettext("names no file of a checkpoint; give its path or the exception that names it."),
        )
    match = _DIRECTORY.search(path)
    place = next((name for name, pattern in _PLACES if pattern.search(path)), UNKNOWN)
    return NamedFile(path, place, match[2] if match else None, match[1] if match else None, root)


def _root_of(path: str, roots: list[StorageRoot]) -> StorageRoot | None:
    return next((root for root in roots if is_below(path, root.uri)), None)

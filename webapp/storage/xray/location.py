"""Finds the ``_metadata`` of a checkpoint by its path in any spelling. Only paths below a
registered root are read, because users enter them.
"""

import errno
import os

from django.utils.translation import gettext

from ingest.metadata.files import NAME, MetadataFile
from ingest.storage import tree
from ingest.uris import BadUri, is_below
from webapp.lib.storage_uris import canonical
from webapp.storage.models import StorageRoot


class NotLocated(Exception):
    """The message is one sentence that says what to do."""


def metadata_path(entered: str) -> str:
    """Canonical path of the ``_metadata``; ``entered`` names it or its directory.

    Raises :class:`NotLocated`.
    """
    try:
        uri = canonical(entered)
    except BadUri as error:
        raise NotLocated(str(error)) from error
    return uri if uri.rpartition("/")[2] == NAME else f"{uri}/{NAME}"


def root_of(path: str) -> StorageRoot | None:
    return next((root for root in StorageRoot.objects.all() if is_below(path, root.uri)), None)


def find_metadata(entered: str) -> MetadataFile:
    """The ``_metadata`` with its current size and time in the storage.

    Raises :class:`NotLocated` and ``OSError``.
    """
    return _file_at(metadata_path(entered))


def find_state_file(entered: str) -> MetadataFile:
    """A state file that a ``_metadata`` refers to."""
    try:
        return _file_at(canonical(entered))
    except BadUri as error:
        raise NotLocated(str(error)) from error


def _file_at(path: str) -> MetadataFile:
    row = root_of(path)
    if row is None:
        raise NotLocated(
            gettext("%(path)s lies below no registered storage root; add one to have it read.")
            % {"path": path}
        )
    root = row.place
    reading = root.readable(path)
    try:
        status = tree.stat(reading, root.reading)
    except tree.Gone as error:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), reading) from error
    except (tree.Linked, ValueError) as error:
        raise NotLocated(
            gettext("%(path)s cannot be looked for where its root is read: %(error)s")
            % {"path": path, "error": error}
        ) from error
    except tree.TreeError as error:
        raise OSError(str(error)) from error
    return MetadataFile(path, status.bytes, status.modified, reading, root.reading)

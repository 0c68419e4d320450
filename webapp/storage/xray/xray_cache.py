"""Caches X-rays by path, size and time of the file, and version of the reader."""

import hashlib

from django.core.cache import cache

from ingest.metadata.files import MetadataFile
from ingest.metadata.reader import READER_VERSION
from webapp.storage.xray import xray_reader
from webapp.storage.xray.contents import Xray

KEPT_S = 24 * 3600
_FORM = 5
"""To be raised with every change of the cached form."""


def xray(file: MetadataFile) -> Xray:
    """Raises as :func:`webapp.storage.xray.xray_reader.read`; errors are not cached."""
    # Without size and time, a changed file would not be noticed.
    if file.size is None or file.modified is None:
        return xray_reader.read(file)
    facts = f"{file.path}\t{file.size}\t{file.modified}"
    digest = hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()
    key = f"xray:{_FORM}:{READER_VERSION}:{digest}"
    cached: Xray | None = cache.get(key)
    if cached is None:
        cached = xray_reader.read(file)
        cache.set(key, cached, KEPT_S)
    return cached

"""X-rays that were made are kept: by path, size, time of the file and version of
the reader.
"""

import hashlib
from collections.abc import Callable
from typing import TypeVar

from django.core.cache import cache

from ingest.metadata.files import MetadataFile
from ingest.metadata.reader import READER_VERSION
from webapp.storage.xray import xray_reader
from webapp.storage.xray.contents import Xray

KEPT_S = 24 * 3600
_FORM = 3
"""To be raised with every change of what is kept."""

ResultT = TypeVar("ResultT")


def xray(file: MetadataFile) -> Xray:
    """Raises what :func:`webapp.storage.xray.xray_reader.read` raises; errors are not kept."""
    return _kept("xray", (file,), lambda: xray_reader.read(file))


def _kept(kind: str, files: tuple[MetadataFile, ...], make: Callable[[], ResultT]) -> ResultT:
    # Without size and time it cannot be known whether it is still the same file.
    if any(file.size is None or file.modified is None for file in files):
        return make()
    facts = "\n".join(f"{file.path}\t{file.size}\t{file.modified}" for file in files)
    digest = hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()
    key = f"{kind}:{_FORM}:{READER_VERSION}:{digest}"
    cached: ResultT | None = cache.get(key)
    if cached is None:
        cached = make()
        cache.set(key, cached, KEPT_S)
    return cached

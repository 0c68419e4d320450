"""Spellings of paths and URIs for the processes that read them."""

import re
from pathlib import Path
from urllib.parse import unquote

_GLOB = re.compile(r"([{}\[\]*?\\])")
_S3 = re.compile(r"^s3n?://")


def absolute_root(root: str) -> str:
    """A Connect server would resolve a relative path against its own folder."""
    if "://" in root and not root.startswith("file://"):
        return root.rstrip("/")
    return str(
        Path(
            unquote(root.removeprefix("file://")) if root.startswith("file://") else root
        ).absolute()
    )


def hadoop_path(uri: str) -> str:
    """As Hadoop spells it: s3a for object storage, local paths absolute and not percent-encoded."""
    uri = _S3.sub("s3a://", uri)
    if uri.startswith("file://"):
        uri = unquote(uri.removeprefix("file://"))
    if "://" not in uri:
        uri = f"file:{Path(uri).absolute()}"
    return uri


def without_globs(path: str) -> str:
    """Characters that Spark would take for a pattern, escaped."""
    return _GLOB.sub(r"\\\1", path)

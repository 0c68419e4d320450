import re
from pathlib import Path
from urllib.parse import unquote

_GLOB = re.compile(r"([{}\[\]*?\\])")
_S3 = re.compile(r"^s3n?://")


def is_local(*places: str) -> bool:
    return not any("://" in place for place in places)


def absolute_root(root: str) -> str:
    """A URI, or an absolute path: a Connect server has another folder. Without final slash."""
    if root.startswith("file://"):
        root = unquote(root.removeprefix("file://"))
    elif "://" in root:
        return root.rstrip("/")
    return str(Path(root).absolute())


def hadoop_path(uri: str) -> str:
    """The URI as Hadoop spells it: s3a for object storage; local paths absolute and unencoded."""
    uri = _S3.sub("s3a://", uri)
    if uri.startswith("file://"):
        uri = unquote(uri.removeprefix("file://"))
    if "://" not in uri:
        uri = f"file:{Path(uri).absolute()}"
    return uri


def without_globs(path: str) -> str:
    """Escapes what Spark takes for a pattern."""
    return _GLOB.sub(r"\\\1", path)

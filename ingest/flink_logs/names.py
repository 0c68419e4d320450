import re
from datetime import date

COMPRESSION = r"\.(?:gz|bz2|xz|zst)$"
ROTATION = r"(?<=[A-Za-z])\.[0-9]{1,4}$"
DATE = r"[.-][0-9]{4}-?[0-9]{2}-?[0-9]{2}(?:[-_.T][0-9]{1,6}){0,3}(?=\.[A-Za-z]+$|$)"
SUFFIXES: tuple[str, ...] = (COMPRESSION, ROTATION, DATE, ROTATION)

_YARN = re.compile(r"/(container_(?:e[0-9]+_)?[0-9]+_[0-9]+_[0-9]+_[0-9]+)/[^/]+$")
_CONTAINER_PATHS = (
    # /var/log/pods/NAMESPACE_POD_UID/CONTAINER/0.log,
    # /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log
    re.compile(r"/pods/[^/_]+_([^/_]+)_[^/_]+/([^/]+)/[0-9]+\.log[^/]*$"),
    re.compile(r"/containers/([^/_]+)_[^/_]+_([^/_]+)-[0-9a-f]{64}\.log[^/]*$"),
    # /var/lib/docker/containers/ID/ID-json.log
    re.compile(r"/([0-9a-f]{12})[0-9a-f]{52}/[0-9a-f]{64}-json\.log[^/]*$"),
    _YARN,
)
_SUFFIXES = tuple(re.compile(suffix) for suffix in SUFFIXES)
_DAY = re.compile(r"(?<![0-9])(20[0-9]{2})-?([0-9]{2})-?([0-9]{2})(?![0-9])")
_NUMBER = re.compile(r"[.-]([0-9]{1,4})(?=\.log)?(?:\.(?:gz|bz2|xz|zst))?$")


def process_of(path: str) -> str:
    """The process that writes a log: ``jm.log`` for ``…/jm.log.3.gz`` and ``jm.log-20261121``."""
    name = _unrotated(path)
    for pattern in _CONTAINER_PATHS:
        match = pattern.search(path)
        if match:
            return "/".join([*match.groups(), *([name] if pattern is _YARN else [])])
    return name


def _unrotated(path: str) -> str:
    name = path.rstrip("/").rsplit("/", 1)[-1]
    shortened = name
    for suffix in _SUFFIXES:
        shortened = suffix.sub("", shortened)
    return shortened or name


def day_of(path: str) -> date | None:
    match = _DAY.search(path.rsplit("/", 1)[-1])
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def is_rotated(path: str) -> bool:
    return path.rstrip("/").rsplit("/", 1)[-1] != _unrotated(path)


def is_packed(path: str) -> bool:
    return re.search(COMPRESSION, path) is not None


def age_order(path: str) -> tuple[str, int, str]:
    """Sort key of a process's files, oldest first: ``.log.2``, ``.log.1``, ``.log``."""
    match = _NUMBER.search(path) if is_rotated(path) else None
    rank = -int(match[1]) if match else -is_rotated(path)
    return process_of(path), rank, path

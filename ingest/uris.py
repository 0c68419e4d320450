"""One spelling for each place in storage: references and listings are compared as text.

Two spellings that *might* mean one file become the same text, since one file under two names would
look like an orphan. So percent encoding is decoded, although Flink takes it literally, and repeated
slashes become one, although object stores distinguish them. To open a file, use the spelling of its
listing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from ingest.errors import IngestError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_SCHEME_OF_STORAGE = {
    **dict.fromkeys(("s3a", "s3n", "s3p"), "s3"),
    **dict.fromkeys(("abfss", "wasb", "wasbs"), "abfs"),
    "swebhdfs": "webhdfs",
}
"""Scheme of another client, or of the same client with TLS → scheme. ``s3p`` is Flink's Presto."""
_DEFAULT_PORTS = {"hdfs": "8020", "viewfs": "", "abfs": "443"}
_CONTAINER_SCHEMES = {"abfs"}
"""Their authority is ``container@account``. In other schemes, a user or secret precedes ``@``."""
_BLOB_HOST = re.compile(r"^([a-z0-9]+(?:\.z[0-9]+)?)\.blob\.")
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_MOST_ENCODINGS = 8
_MOST_STEPS = 1000
_UNDECODABLE = re.compile("[\ud800-\udfff]")
"""Bytes of a file name that are not UTF-8; Java replaces them by U+FFFD."""


class BadUri(IngestError, ValueError):
    def __init__(self, uri: str, why: str) -> None:
        super().__init__(f"{uri[:200]!r} {why}")


@dataclass(frozen=True)
class Spellings:
    """Prefixes that stand for other prefixes: name services, other authorities of one storage,
    mount points. ``aliases`` are pairs (from, to); the longest ``from`` wins, and the result may
    start with a further alias. Raises ``BadUri`` if aliases form a circle.
    """

    aliases: tuple[tuple[str, str], ...] = ()
    _prefixes: tuple[tuple[str, str], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pairs = {_normalise(old): _normalise(new) for old, new in self.aliases}
        pairs = {old: new for old, new in pairs.items() if old != new}
        object.__setattr__(
            self, "_prefixes", tuple(sorted(pairs.items(), key=lambda pair: -len(pair[0])))
        )
        for old, new in self._prefixes:
            self._refuse_circle(old, new)

    def apply(self, uri: str) -> str:
        while (replaced := self._apply_first(uri)) is not None:
            uri = replaced
        return uri

    def prefixes(self) -> Sequence[tuple[str, str]]:
        return self._prefixes

    def _apply_first(self, uri: str) -> str | None:
        return next(
            (_join(new, uri[len(old) :]) for old, new in self._prefixes if is_below(uri, old)), None
        )

    def _refuse_circle(self, old: str, new: str) -> None:
        # It is enough to follow each target: a path behind it only gets shorter with each step.
        target = new
        for _ in range(_MOST_STEPS):
            replaced = self._apply_first(target)
            if replaced is None:
                return
            target = replaced
        raise BadUri(
            old,
            f"is an alias of {new!r}, which leads back to it; remove one of the "
            "aliases that form the circle.",
        )


PLAIN = Spellings()


def canonical(uri: str, spellings: Spellings = PLAIN) -> str:
    """``file:/a/b``, ``s3://bucket/key`` or ``hdfs://host/path``: without trailing slash, percent
    encoding and credentials. An absolute path without scheme is local. Idempotent. Raises
    ``BadUri``.
    """
    return spellings.apply(_normalise(uri))


def refuse_undecodable(uri: str) -> None:
    if _UNDECODABLE.search(uri):
        raise BadUri(uri, "is not UTF-8; rename the directory, or read it by another mount.")


def is_below(path: str, root: str) -> bool:
    return path.startswith(root) and (
        len(path) == len(root) or root.endswith("/") or path[len(root)] == "/"
    )


def are_nested(uri: str, other: str) -> bool:
    return is_below(uri, other) or is_below(other, uri)


def canonical_column(
    uris: pa.Array | pa.ChunkedArray, spellings: Spellings = PLAIN
) -> pa.Array | pa.ChunkedArray:
    """``canonical`` of each text, null for a bad URI. A usual spelling costs less than 1 µs."""
    if isinstance(uris, pa.ChunkedArray):
        return pa.chunked_array(
            [canonical_column(chunk, spellings) for chunk in uris.chunks], pa.string()
        )
    texts = uris.cast(pa.string())
    is_odd = pc.invert(_is_plain(texts))
    if pc.any(is_odd).as_py():
        # Only odd paths are rewritten: a pass over all paths would cost more than all other steps.
        rewritten = texts.filter(is_odd)
        for pattern, replacement in _COMMON_SPELLINGS:
            rewritten = pc.replace_substring_regex(
                rewritten, pattern, replacement, max_replacements=1
            )
        texts = pc.replace_with_mask(texts, is_odd, rewritten)
    aliases = spellings.prefixes()
    is_plain = pc.and_not(
        _is_plain(texts),
        pc.is_in(texts, value_set=pa.array([old for old, _ in aliases], pa.string())),
    )
    is_irregular = pc.invert(is_plain)
    irregular_texts = texts.filter(is_irregular).to_pylist()
    canonical_of = {uri: _or_none(uri, spellings) for uri in set(irregular_texts)}
    respelled = _respell(texts, is_plain, aliases)
    return (
        pc.replace_with_mask(
            respelled,
            is_irregular,
            pa.array([canonical_of[uri] for uri in irregular_texts], pa.string()),
        )
        if irregular_texts
        else respelled
    )


def _is_plain(texts: pa.Array) -> pa.Array:
    return pc.fill_null(pc.match_substring_regex(texts, _SURELY_CANONICAL), True)


def _respell(texts: pa.Array, is_plain: pa.Array, aliases: Sequence[tuple[str, str]]) -> pa.Array:
    may_have_alias = is_plain
    while aliases and pc.any(may_have_alias).as_py():
        was_replaced = pa.repeat(False, len(texts))
        for old, new in aliases:
            prefix = _join(old, "/")
            matching = pc.and_(
                pc.and_not(may_have_alias, was_replaced),
                pc.fill_null(pc.starts_with(texts, prefix), False),
            )
            texts = pc.if_else(
                matching, pc.utf8_replace_slice(texts, 0, len(prefix), _join(new, "/")), texts
            )
            was_replaced = pc.or_(was_replaced, matching)
        may_have_alias = was_replaced
    return texts


# The slash that follows distinguishes ``/a`` from ``//a``, which ``canonical`` must get as it is.
_COMMON_SPELLINGS = (
    ("^s3[anp]://", "s3://"),
    (
        r"^(?:abfss?|wasbs?)://([A-Za-z0-9$-]+@[a-z0-9]+)\.(?:blob|dfs)\.([a-z0-9.-]+/)",
        r"abfs://\1.dfs.\2",
    ),
    ("^file:///([^/])", r"file:/\1"),
    ("^/([^/])", r"file:/\1"),
)
# Not matched: components that begin with a dot, percent encoding, ports and users.
_SURELY_CANONICAL = (
    r"^(?:file:|s3://[A-Za-z0-9._-]+|(?:hdfs|gs|oss|cosn)://[a-z0-9._-]+"
    r"|abfs://[A-Za-z0-9$-]+@[a-z0-9]+\.dfs\.[a-z0-9.-]+)(?:/[^/%.\x00][^/%\x00]*)+$"
)


def _or_none(uri: str, spellings: Spellings) -> str | None:
    try:
        return canonical(uri, spellings)
    except BadUri:
        return None


def _normalise(uri: str) -> str:
    if "\x00" in uri:
        raise BadUri(
            uri,
            "contains a null character, which is not allowed in a path; check where "
            "it was read from.",
        )
    scheme, authority, path = _split(_UNDECODABLE.sub("\ufffd", uri))
    path = _normalise_path(_decode(path, uri))
    if scheme == "file":
        return f"file:{path}"
    return f"{scheme}://{authority}{'' if authority and path == '/' else path}"


def _split(uri: str) -> tuple[str, str, str]:
    """Scheme, authority and path. ``?`` and ``#`` are ordinary characters."""
    match = _SCHEME.match(uri)
    scheme, location = (match[1].lower(), uri[match.end() :]) if match else ("file", uri)
    if not location.startswith("/"):
        raise BadUri(uri, "is not absolute; write /directory, or scheme://authority/directory.")
    if match is None or not location.startswith("//"):
        return _SCHEME_OF_STORAGE.get(scheme, scheme), "", location
    scheme = _SCHEME_OF_STORAGE.get(scheme, scheme)
    authority, slash, path = location[2:].partition("/")
    return scheme, _normalise_authority(scheme, authority, uri), slash + path or "/"


def _normalise_authority(scheme: str, authority: str, uri: str) -> str:
    if scheme == "file":
        if authority.lower() not in ("", "localhost"):
            raise BadUri(uri, "names a host for a local file; write file:/directory.")
        return ""
    user, at, host = authority.rpartition("@")
    if scheme == "s3":
        return host  # buckets from before 2018 may have upper case
    host = host.lower()
    name, colon, port = host.rpartition(":")
    if colon and port in ("", _DEFAULT_PORTS.get(scheme)):
        host = name
    if scheme == "abfs":
        host = _BLOB_HOST.sub(r"\1.dfs.", host)
    return f"{user}{at}{host}" if scheme in _CONTAINER_SCHEMES else host


def _decode(path: str, uri: str) -> str:
    for _ in range(_MOST_ENCODINGS):
        if not _ENCODED.search(path):
            return path
        path = unquote(path, errors="replace")
        if "\x00" in path:
            raise BadUri(
                uri,
                "contains an encoded null character, which is not allowed in a path; "
                "check where it was read from.",
            )
    raise BadUri(
        uri,
        f"is percent-encoded more than {_MOST_ENCODINGS} times over; give the name as "
        "the storage has it.",
    )


def _normalise_path(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def _join(prefix: str, path: str) -> str:
    if not path:
        return prefix
    return f"{prefix.rstrip('/')}/{path.lstrip('/')}"

from dataclasses import dataclass

from ingest.uris import PLAIN, Spellings, canonical, is_below, refuse_undecodable

CLIENT_OF = {"s3n": "s3", "s3p": "s3", "wasb": "abfs", "wasbs": "abfs"}
"""Schemes that only clients of Flink have → one that reads the same files."""


@dataclass(frozen=True, slots=True)
class Root:
    """``uri`` is canonical: paths in ``_metadata`` begin with it. ``read_at`` is where the same
    tree lies for Weir (another mount, a copy, another spelling); ``None`` if that is ``uri``
    itself.
    """

    uri: str
    read_at: str | None = None

    @classmethod
    def of(cls, written: str, read_at: str | None = None, spellings: Spellings = PLAIN) -> "Root":
        """``written`` in any spelling, by which it is read unless ``read_at`` says otherwise.
        Raises ``BadUri``.
        """
        for name in (written, read_at or ""):
            refuse_undecodable(name)
        uri = canonical(written, spellings)
        scheme, colon, rest = (read_at or written).partition("://")
        given = f"{CLIENT_OF.get(scheme.lower(), scheme)}{colon}{rest}"
        if read_at is not None or given not in (uri, local_path(uri)):
            read_at = local_path(given) if read_at is None else given
        return cls(uri, read_at if read_at is None else read_at.rstrip("/") or "/")

    @property
    def reading(self) -> str:
        """To open: a plain path where it is local, else any fsspec URI."""
        return local_path(self.uri if self.read_at is None else self.read_at)

    def readable(self, path: str) -> str:
        """Where ``path`` (canonical) is read. Raises ``ValueError`` if it is not below the root."""
        if not is_below(path, self.uri):
            raise ValueError(f"{path!r} is not below the root {self.uri!r}.")
        return f"{self.reading.rstrip('/')}/{path[len(self.uri) :].lstrip('/')}".rstrip("/") or "/"

    def canonical(self, read_path: str) -> str:
        """Of a path found while reading. Raises ``ValueError`` if it is not below, ``BadUri``."""
        at, path = canonical(self.reading), canonical(read_path)
        if not is_below(path, at):
            raise ValueError(
                f"{read_path!r} is not below {self.reading!r}, where the root {self.uri!r} is read."
            )
        rest = path[len(at) :].lstrip("/")
        return f"{self.uri.rstrip('/')}/{rest}" if rest else self.uri


def local_path(uri: str) -> str:
    """``/a`` of ``file:/a`` and ``file:///a``; other URIs as they are."""
    if not uri.startswith("file:"):
        return uri
    return "/" + uri.removeprefix("file:").removeprefix("//localhost").lstrip("/")

from dataclasses import dataclass

from ingest.uris import PLAIN, Spellings, canonical, is_below, refuse_undecodable

CLIENT_OF = {"s3n": "s3", "s3p": "s3", "wasb": "abfs", "wasbs": "abfs"}
"""Scheme of Flink's clients only → scheme by which Weir can read the same files."""


@dataclass(frozen=True, slots=True)
class Root:
    """``uri`` is canonical: paths in ``_metadata`` begin with it. ``read_at`` is where Weir reads
    the same tree (a mount, a copy, a spelling); ``None`` for ``uri`` itself.
    """

    uri: str
    read_at: str | None = None

    @classmethod
    def of(cls, spelling: str, read_at: str | None = None, spellings: Spellings = PLAIN) -> "Root":
        """``spelling``: the URI in any spelling, at which the tree is read by default. Raises
        ``BadUri``.
        """
        for name in (spelling, read_at or ""):
            refuse_undecodable(name)
        uri = canonical(spelling, spellings)
        scheme, colon, path = (read_at or spelling).partition("://")
        client_uri = f"{CLIENT_OF.get(scheme.lower(), scheme)}{colon}{path}"
        if read_at is not None or client_uri not in (uri, local_path(uri)):
            read_at = local_path(client_uri) if read_at is None else client_uri
        return cls(uri, read_at if read_at is None else read_at.rstrip("/") or "/")

    @property
    def reading(self) -> str:
        return local_path(self.uri if self.read_at is None else self.read_at)

    def readable(self, path: str) -> str:
        if not is_below(path, self.uri):
            raise ValueError(f"{path!r} is not below the root {self.uri!r}.")
        return f"{self.reading.rstrip('/')}/{path[len(self.uri) :].lstrip('/')}".rstrip("/") or "/"

    def canonical(self, read_path: str) -> str:
        """The canonical name of a path below ``reading``. Raises ``ValueError`` if it is not
        below, and ``BadUri``.
        """
        reading_uri, path = canonical(self.reading), canonical(read_path)
        if not is_below(path, reading_uri):
            raise ValueError(
                f"{read_path!r} is not below {self.reading!r}, where the root {self.uri!r} is read."
            )
        rest = path[len(reading_uri) :].lstrip("/")
        return f"{self.uri.rstrip('/')}/{rest}" if rest else self.uri


def local_path(uri: str) -> str:
    """``/a`` for ``file:/a`` and ``file:///a``. Other URIs do not change."""
    if not uri.startswith("file:"):
        return uri
    return "/" + uri.removeprefix("file:").removeprefix("//localhost").lstrip("/")

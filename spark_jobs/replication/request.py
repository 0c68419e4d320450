import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import fsspec

from ingest.errors import Refused

Pairs = tuple[tuple[str, str | None], ...]

COMPLETE, UP_TO_DATE, NOTHING = "complete", "up_to_date", "nothing"


@dataclass(frozen=True)
class Request:
    """``source``: a job's canonical directory. ``destination``: the copy's URI for Flink;
    ``read_at``: for Weir. ``roots``: (canonical URI, URI for Weir) of every registered root; those
    in ``withheld`` are not read. ``taken``: more directories, in the same form, not to be written
    to.
    """

    replica: str
    source: str
    destination: str
    read_at: str | None = None
    roots: Pairs = ()
    aliases: tuple[tuple[str, str], ...] = ()
    withheld: tuple[str, ...] = ()
    taken: Pairs = ()

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> "Request":
        try:
            fields = json.loads(text)
            for name in ("roots", "aliases", "taken"):
                fields[name] = tuple((str(uri), other) for uri, other in fields.get(name, ()))
            fields["withheld"] = tuple(map(str, fields.get("withheld", ())))
            return cls(**fields)
        except (ValueError, TypeError, AttributeError) as error:
            raise Refused(
                f"This is no request of a replication ({error}); `manage.py replicate` writes them."
            ) from error


@dataclass(frozen=True)
class Result:
    """``state``: COMPLETE, UP_TO_DATE or NOTHING. ``as_of``: when the original _metadata was
    written (ISO). ``copied_…``, ``deleted_files``: by this run. ``overtaken``: ids of checkpoints
    given up for newer ones.
    """

    state: str
    round: int = 0
    plan: str = ""
    checkpoint_id: int | None = None
    as_of: str | None = None
    completed_at: str | None = None
    location: str = ""
    files: int = 0
    bytes: int = 0
    copied_files: int = 0
    copied_bytes: int = 0
    deleted_files: int = 0
    overtaken: Sequence[int] = ()


def read_request(uri: str) -> Request:
    with fsspec.open(uri, "rb") as file:
        return Request.of(file.read().decode())


def write_result(uri: str, result: Result) -> None:
    with fsspec.open(uri, "wb") as file:
        file.write(json.dumps(asdict(result)).encode())

"""A copy at its destination: its marker, its files, and its records.

    _weir/replica.json           whose copy this is
    _weir/rounds/<n>/
        plan.jsonl               written before the first file of a round is copied
        origin.metadata          the bytes of the original _metadata
        copied/<token>.jsonl     files that a batch has copied: name, bytes, SHA-256
        complete.json            written after the _metadata, the last file of the copy
        deleting.json            names of unneeded files, written before they are deleted
        files.jsonl              all files of the copy, with SHA-256
        finished.json            written after the deletion: names of files that could not be deleted

Nothing is written to a directory with another copy or other files. A record is written once.
Records of rounds before the last finished round are removed; records of incomplete rounds, when the
next round has taken them over.
"""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.errors import Refused
from ingest.storage import folders, tree
from ingest.storage.directories import Kind, directories
from ingest.storage.plan_folder import AlreadyWritten, PlanFolder
from ingest.storage.roots import local_path
from spark_jobs.replication.names import RECORDS
from spark_jobs.replication.plan import BadPlan, Plan, read_plan
from spark_jobs.replication.request import Request

MARKER = "replica.json"
PLAN = "plan.jsonl"
ORIGIN = "origin.metadata"
COMPLETE = "complete.json"
DELETING = "deleting.json"
FILES = "files.jsonl"
FINISHED = "finished.json"


@dataclass(frozen=True, slots=True)
class Copied:
    name: str
    bytes: int
    sha256: str


@dataclass
class Ledger:
    """The state of a copy by its records. ``files``: known to be complete. ``names``: that Weir may
    have written. ``plan``: of the newest complete copy; ``unfinished``: its deletions remain.
    ``open_plan``: of an interrupted round. ``round``: number of the newest; ``incomplete``: numbers
    without a complete copy.
    """

    files: dict[str, Copied] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    plan: Plan | None = None
    complete: Mapping[str, Any] = field(default_factory=dict)
    unfinished: bool = False
    open_plan: Plan | None = None
    round: int = 0
    incomplete: list[int] = field(default_factory=list)


class Replica:
    def __init__(self, request: Request) -> None:
        self.id, self.source = request.replica, request.source
        written = request.destination.rstrip("/") or "/"
        self.uri = f"file:{written}" if written.startswith("/") else written
        self.reading = local_path(request.read_at or self.uri).rstrip("/") or "/"
        self.records = PlanFolder(f"{self.reading}/{RECORDS}", self.reading)

    @classmethod
    def open(cls, request: Request) -> "Replica":
        """Creates the copy if needed. Raises Refused if its directory has another copy or files."""
        replica = cls(request)
        marker = {"format": 1, "replica": request.replica, "source": request.source}
        if not replica.records.exists(MARKER):
            if any(entry.name != RECORDS for entry in replica._entries("")):
                raise Refused(
                    f"{replica.reading} holds files that are no copy of Weir; name a directory "
                    "that is empty or not there yet."
                )
            if "://" not in replica.reading:
                # Files of a copy have the permissions of the parent directory, records have not.
                folders.make(Path(replica.reading))
            with suppress(AlreadyWritten):
                replica.records.write(MARKER, json.dumps(marker).encode())
        if json.loads(replica.records.read(MARKER)) != marker:
            # The message must not reveal the owner of the other copy.
            raise Refused(f"{replica.reading} holds another copy; name another directory.")
        return replica

    def at(self, name: str) -> str:
        if ".." in name.split("/") or name.startswith("/"):
            raise Refused(f"{name!r} is no name of a copy.")
        return f"{self.reading}/{name}"

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        names = set(names)
        sizes: dict[str, int] = {}
        for folder in _folders(names):
            for entry in self._entries(f"/{folder}"):
                name = f"{folder}/{entry.name}"
                if name in names and entry.kind is Kind.FILE:
                    sizes[name] = entry.bytes
        return sizes

    def remove(self, name: str) -> None:
        with suppress(tree.Gone):
            tree.delete(self.at(name), within=self.reading)

    def remove_empty(self, folders: Iterable[str]) -> None:
        for folder in sorted(set(folders), reverse=True):
            if "/" in folder and not any(True for _ in self._entries(f"/{folder}")):
                tree.remove_empty(self.at(folder), self.reading)

    def remove_parts(self, names: Iterable[str]) -> None:
        """Removes files of interrupted copies: ``.<name>.<32 characters>.part``."""
        names = set(names)
        for folder in _folders(names):
            for entry in list(self._entries(f"/{folder}")):
                base, _, end = entry.name.removesuffix(".part").rpartition(".")
                if (
                    entry.name.endswith(".part")
                    and len(end) == 32
                    and f"{folder}/{base.removeprefix('.')}" in names
                ):
                    self.remove(f"{folder}/{entry.name}")

    def write(self, round_: int, name: str, content: bytes) -> None:
        with suppress(AlreadyWritten):
            self.records.write(f"rounds/{round_:08}/{name}", content)

    def read(self, round_: int, name: str) -> bytes | None:
        try:
            return self.records.read(f"rounds/{round_:08}/{name}")
        except FileNotFoundError:
            return None

    def write_copied(self, round_: int, files: Iterable[Copied]) -> None:
        self.write(round_, f"copied/{secrets.token_hex(8)}.jsonl", _lines(files))

    def read_copied(self, round_: int) -> Iterator[Copied]:
        for name in self.records.names(f"rounds/{round_:08}/copied"):
            yield from _copied_files(self.read(round_, f"copied/{name}") or b"")

    def write_files(self, round_: int, files: Iterable[Copied]) -> None:
        self.write(round_, FILES, _lines(files))

    def ledger(self) -> Ledger:
        """Raises BadPlan if a record cannot be read."""
        rounds = self.rounds()
        records = {number: set(self.records.names(f"rounds/{number:08}")) for number in rounds}
        finished = max((number for number in rounds if FINISHED in records[number]), default=0)
        ledger = Ledger(round=rounds[-1] if rounds else 0)
        for number in (number for number in rounds if number >= finished):
            self._take_up(ledger, number, records[number])
        return ledger

    def rounds(self) -> list[int]:
        return sorted(int(name) for name in self.records.names("rounds") if name.isdigit())

    def forget(self, rounds: Iterable[int]) -> None:
        for number in rounds:
            PlanFolder(f"{self.records.uri}/rounds/{number:08}", self.reading).remove()

    def _take_up(self, ledger: Ledger, number: int, record_names: set[str]) -> None:
        content = self.read(number, PLAN)
        if content is None:
            return
        plan = read_plan(content)
        if FINISHED in record_names:
            files = _copied_files(self.read(number, FILES) or b"")
            ledger.files = {file.name: file for file in files}
            undeleted = json.loads(self.read(number, FINISHED) or b"{}").get("left", ())
            ledger.names = {*ledger.files, plan.metadata_name, *undeleted}
        else:
            # The plan may delete files of rounds whose records were removed.
            ledger.names |= {
                plan.metadata_name,
                *plan.delete,
                *(entry.name for entry in plan.entries),
            }
            ledger.files |= {file.name: file for file in self.read_copied(number)}
            for name in json.loads(self.read(number, DELETING) or b"[]"):
                ledger.files.pop(name, None)
        if COMPLETE in record_names:
            ledger.plan, ledger.open_plan = plan, None
            ledger.complete = json.loads(self.read(number, COMPLETE) or b"{}")
            ledger.unfinished = FINISHED not in record_names
        else:
            ledger.open_plan = plan
            ledger.incomplete.append(number)

    def _entries(self, below: str) -> Iterator[Any]:
        try:
            yield from directories(self.reading).entries(below)
        except FileNotFoundError:
            return


def _folders(names: Iterable[str]) -> list[str]:
    return sorted({name.rpartition("/")[0] for name in names})


def _lines(files: Iterable[Copied]) -> bytes:
    return b"".join(
        json.dumps([file.name, file.bytes, file.sha256]).encode() + b"\n" for file in files
    )


def _copied_files(content: bytes) -> Iterator[Copied]:
    try:
        yield from (Copied(*json.loads(line)) for line in content.splitlines())
    except (ValueError, TypeError) as error:
        raise BadPlan(f"A record of what was copied cannot be read ({error}).") from error

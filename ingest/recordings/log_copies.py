"""Copies growing log files into a recording, a piece at each poll, so that a host that dies leaves
what it wrote.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from ingest.errors import Refused
from ingest.flink_logs.files import READ_BYTES, UNREADABLE, LogFile, find, unreadable
from ingest.flink_rest.address import Address
from ingest.recordings.masking import MaskedLog
from ingest.records import Skip

HEAD_BYTES = 256


@dataclass(slots=True)
class _Copy:
    target: Path
    head: str
    log: MaskedLog
    read_to: int = 0
    torn: bytes = b""


@dataclass(slots=True)
class LogCopies:
    """``left_bytes`` is what may still be written; copying stops there.

    Files are distinguished by their first bytes.
    """

    globs: tuple[str, ...]
    folder: Path
    address: Address
    left_bytes: int
    skips: list[Skip] = field(default_factory=list)
    _copies: dict[str, _Copy] = field(default_factory=dict)
    _rolled: int = 0

    def copy_new(self) -> None:
        """What was written since the last call; packed archives are unpacked, so that secrets in
        them are masked too.
        """
        files, skips = find(self.globs)
        self._note(skips)
        for file in files:
            try:
                self._copy(file)
            except UNREADABLE as error:
                self._note([unreadable(file.path, error)])

    def close(self) -> None:
        for copy in self._copies.values():
            if copy.torn:
                self._write(copy, copy.torn + b"\n")
                copy.torn = b""

    def add_whole(self, name: str, content: bytes) -> None:
        self._write(_Copy(self.folder / name, "", MaskedLog(self.address)), content)

    def _copy(self, file: LogFile) -> None:
        with file.open() as stream:
            head = sha256(stream.read(HEAD_BYTES)).hexdigest()
            copy = self._copies.get(file.path)
            if copy is None or (copy.read_to >= HEAD_BYTES and copy.head != head):
                copy = self._copies[file.path] = self._begin(file, copy)
            if copy.read_to < HEAD_BYTES:
                copy.head = head
            stream.seek(copy.read_to)
            while self.left_bytes > 0 and (data := stream.read(READ_BYTES)):
                copy.read_to += len(data)
                whole, newline, copy.torn = (copy.torn + data).rpartition(b"\n")
                self._write(copy, whole + newline)

    def _begin(self, file: LogFile, before: _Copy | None) -> _Copy:
        if before and before.target.exists():
            self._rolled += 1
            before.target.rename(
                before.target.with_name(f"{before.target.name}.{9000 + self._rolled}")
            )
        return _Copy(self._target(file.path), "", MaskedLog(self.address))

    def _target(self, path: str) -> Path:
        name = path.rsplit("/", 1)[-1]
        for suffix in (".gz", ".bz2", ".xz"):
            name = name.removesuffix(suffix)
        taken = {copy.target for source, copy in self._copies.items() if source != path}
        target = self.folder / name
        # Hosts may name their logs alike; a folder each keeps them apart.
        number = 1
        while target in taken:
            number += 1
            target = self.folder / str(number) / name
        return target

    def _write(self, copy: _Copy, lines: bytes) -> None:
        if not lines:
            return
        try:
            copy.target.parent.mkdir(parents=True, exist_ok=True)
            with copy.target.open("ab") as out:
                self.left_bytes -= out.write(copy.log.masked(lines))
        except OSError as error:
            raise Refused(
                f"The recording in {self.folder} cannot be written ({error.strerror})."
            ) from error

    def _note(self, skips: list[Skip]) -> None:
        known = {skip.subject for skip in self.skips}
        self.skips += [skip for skip in skips if skip.subject not in known]

"""A backup as a folder: files, and a manifest of their lengths and SHA-256 that is written last, without which there is no backup."""

import hashlib
import json
import os
import secrets
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FORMAT = 1
MANIFEST, UNFINISHED = "backup.json", "backup.unfinished"
BLOCK_BYTES = 1 << 20


class BackupRefused(Exception):
    """Nothing was changed; the message says why, and what to do."""


@dataclass
class Contents:
    """What a backup holds. ``files``: path in it → length in bytes and SHA-256.

    ``migrations``: the last ones of each app of the database; ``lake``: table → version of Delta; ``roots``: where folders lay.
    """

    made_at: str
    database: str
    migrations: list[tuple[str, str]]
    lake: dict[str, int] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    files: dict[str, tuple[int, str]] = field(default_factory=dict)


class Archive:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self) -> None:
        """A new folder, or one that a backup before did not finish. Raises :class:`BackupRefused`."""
        if (self.folder / MANIFEST).exists():
            raise BackupRefused(f"{self.folder} holds a backup already; name another folder.")
        if self.folder.is_dir() and any(self.folder.iterdir()) and not (self.folder / UNFINISHED).exists():
            raise BackupRefused(f"{self.folder} is not empty, and what is in it is no backup of Weir; name another folder.")
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        (self.folder / UNFINISHED).touch(mode=0o600)

    def put(self, source: Path, name: str, contents: Contents, *, never_changes: bool = False) -> None:
        """Copy a file. One that never changes and is there already, as an earlier attempt left it whole, is only read."""
        target = self.folder / name
        if never_changes and target.is_file() and target.stat().st_size == source.stat().st_size:
            contents.files[name] = (target.stat().st_size, digest(target))
            return
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
        try:
            contents.files[name] = copied(source, draft)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)

    def finish(self, contents: Contents) -> None:
        """Leftovers of attempts before are removed; from here on it is a backup."""
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if path.is_file() and name not in contents.files and name != UNFINISHED:
                path.unlink()
        draft = self.folder / f".{MANIFEST}"
        with draft.open("w") as file:
            json.dump({"format": FORMAT, **asdict(contents)}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(0o600)
        draft.replace(self.folder / MANIFEST)
        (self.folder / UNFINISHED).unlink()

    def contents(self) -> Contents:
        """Raises :class:`BackupRefused` where it is none, or of another form."""
        path = self.folder / MANIFEST
        try:
            said: dict[str, Any] = json.loads(path.read_text())
            if said.pop("format") != FORMAT:
                raise BackupRefused(f"{path} is of a form that this version of Weir does not know.")
            said["migrations"] = [(app, name) for app, name in said["migrations"]]
            said["files"] = {str(name): (int(size), str(sha)) for name, (size, sha) in said["files"].items()}
            return Contents(**said)
        except FileNotFoundError:
            unfinished = (self.folder / UNFINISHED).exists()
            why = "was not finished: run manage.py backup again with this folder" if unfinished else "is no backup of Weir"
            raise BackupRefused(f"{self.folder} {why}; there is no {MANIFEST} in it.") from None
        except (ValueError, KeyError, TypeError) as error:
            raise BackupRefused(f"{path} is damaged ({error}).") from error

    def check(self, contents: Contents) -> None:
        """Every file is there and is what it was. Raises :class:`BackupRefused` with the first ones that are not."""
        bad = [name for name, known in contents.files.items() if not self._is_as_noted(name, known)]
        if bad:
            more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
            raise BackupRefused(
                f"The backup {self.folder} is damaged: {', '.join(sorted(bad)[:3])}{more} are missing or are not as they were."
            )

    def _is_as_noted(self, name: str, known: tuple[int, str]) -> bool:
        path = self.folder / name
        inside = not Path(name).is_absolute() and ".." not in Path(name).parts
        return inside and path.is_file() and not path.is_symlink() and (path.stat().st_size, digest(path)) == known


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copied(source: Path, target: Path) -> tuple[int, str]:
    """Copy, and return length and SHA-256 of what was written. The copy is on disk when this returns, for its owner alone."""
    seen = hashlib.sha256()
    length = 0
    with source.open("rb") as reading, os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as writing:
        while block := reading.read(BLOCK_BYTES):
            seen.update(block)
            writing.write(block)
            length += len(block)
        writing.flush()
        os.fsync(writing.fileno())
    shutil.copystat(source, target)
    target.chmod(0o600)
    return length, seen.hexdigest()

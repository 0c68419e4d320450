"""Restoring a backup into an empty installation, which may lie elsewhere: all of it, or nothing that anybody sees.

Checked first, then folders are put in their places, the database last. Broken off, the same call again replaces what the first one left.
"""

import fcntl
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.models import Model, Value
from django.db.models.functions import Replace

from webapp.backup import database, keys
from webapp.backup.archive import MANIFEST, Archive, BackupRefused, Contents, copied, digest
from webapp.backup.making import IN_HOME, roots
from webapp.cleanup.models import CleanupPlan
from webapp.storage.models import StorageAudit
from webapp.supervisor.home import Home, InstanceRuns
from webapp.work.models import DueWork, Manifest, PipelineRun

MARK = "restoring"
PATHS: tuple[tuple[type[Model], str, str], ...] = (
    (Manifest, "path", "runs"),
    (PipelineRun, "manifest_path", "runs"),
    (StorageAudit, "run_dir", "runs"),
    (StorageAudit, "manifest_path", "runs"),
    (CleanupPlan, "folder", "plans"),
)
"""Fields that hold paths below a folder that may lie elsewhere now."""

Say = Callable[[str], None]


def check(folder: Path, passphrase: str) -> Contents:
    """That the backup is whole, and its keys can be read. Raises :class:`BackupRefused`."""
    archive = Archive(folder)
    contents = archive.contents()
    archive.check(contents)
    keys.unpacked((folder / keys.NAME).read_bytes(), passphrase)
    database.check_known(contents.migrations)
    return contents


def restore(folder: Path, passphrase: str, say: Say) -> Contents:
    """Raises :class:`BackupRefused`."""
    contents = check(folder, passphrase)
    say(f"the backup of {contents.made_at} is whole: {len(contents.files):,} files")
    if contents.database != connection.vendor:
        raise BackupRefused(f"The backup holds a database of {contents.database}; this installation is set to {connection.vendor}.")
    known = keys.unpacked((folder / keys.NAME).read_bytes(), passphrase)
    keys.check_given(known)
    home: Path = settings.WEIR.home
    try:
        lock = Home(home).lock("manage.py restore")
    except InstanceRuns as error:
        raise BackupRefused(str(error)) from None
    with lock:
        _restore(folder, contents, known, say)
        fcntl.flock(lock, fcntl.LOCK_UN)
    return contents


def _restore(folder: Path, contents: Contents, known: dict[str, str], say: Say) -> None:
    mark = settings.WEIR.home / MARK
    places = dict(_places())
    begun = mark.is_file() and mark.read_text() == digest(folder / MANIFEST)
    if not begun:
        for place in places.values():
            if place.exists() and any(place.iterdir()):
                raise BackupRefused(f"{place} is not empty. Restore into an empty WEIR_HOME, or move this folder away.")
    database.need_empty()
    mark.write_text(digest(folder / MANIFEST))
    for name, place in places.items():
        if place.exists():
            shutil.rmtree(place)
        place.mkdir(mode=0o700, parents=True)
        for kept in contents.files:
            if kept.startswith(f"{name}/"):
                _put(folder / kept, place / kept.removeprefix(f"{name}/"), contents.files[kept])
        say(f"{name}: restored to {place}")
    _put_keys(known)
    _put_database(folder, contents)
    _move_paths(contents)
    mark.unlink()
    say(f"database: restored, {DueWork.objects.count()} pieces of due work")


def _places() -> Iterator[tuple[str, Path]]:
    for name, place in roots().items():
        if "://" in place:
            raise BackupRefused(f"Only folders are restored, and the {name} would lie at {place}.")
        yield name, Path(place)
    for name in IN_HOME:
        yield f"home/{name}", settings.WEIR.home / name


def _put(source: Path, target: Path, known: tuple[int, str]) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if copied(source, target) != known:
        raise BackupRefused(f"{source} changed while it was read; nothing else was restored.")


def _put_keys(known: dict[str, str]) -> None:
    """The start of this command made keys, which nothing was encrypted with. Those that the environment gives are left to it."""
    secrets = settings.WEIR.home / "secrets"
    secrets.mkdir(mode=0o700, exist_ok=True)
    for name, text in known.items():
        draft = secrets / f".{name}.restored"
        draft.touch(mode=0o600)
        draft.write_text(text)
        draft.replace(secrets / name)


def _put_database(folder: Path, contents: Contents) -> None:
    if contents.database == "postgresql":
        database.load_postgresql(folder / "database", contents.migrations)
        return
    target = Path(settings.WEIR.sqlite_file)
    draft = target.with_name(f".{target.name}.restored")
    draft.unlink(missing_ok=True)
    _put(folder / "database" / database.SQLITE_NAME, draft, contents.files[f"database/{database.SQLITE_NAME}"])
    database.check_sqlite(draft)
    connection.close()
    for end in ("-wal", "-shm"):
        target.with_name(target.name + end).unlink(missing_ok=True)
    draft.replace(target)
    call_command("migrate", verbosity=0, interactive=False)


def _move_paths(contents: Contents) -> None:
    """Rows that name files of a run or a plan name them where they lie now; nobody holds work of the installation that was."""
    for model, field, name in PATHS:
        before, now = contents.roots[name], roots()[name]
        if before != now:
            found = model._default_manager.filter(**{f"{field}__startswith": f"{before}/"})
            found.update(**{field: Replace(field, Value(f"{before}/"), Value(f"{now}/"))})
    DueWork.objects.update(lease_until=None, leased_by=None)

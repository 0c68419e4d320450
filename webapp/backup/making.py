"""Making a backup while Weir runs.

The database first, then everything else: a lake, a journal or a report that is newer than the rows which speak of it is what a killed
worker leaves as well, and the next cycle goes on from there. Tables of the lake are pinned to a version each: what comes later is left out.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

from django.conf import settings
from django.db import connection

from ingest.lake.derived import ALL_TABLES
from ingest.lake.reader import LakeReader
from webapp.backup import database, keys
from webapp.backup.archive import Archive, BackupRefused, Contents
from webapp.storage.models import StorageAudit
from webapp.work.models import Manifest

RUNS_NEEDED = 2
"""The next cycle goes on from the newest; it may be loaded while the database is copied."""
IN_HOME = ("pushed", "pulled", "pushed-metrics", "demo")
LOG = "_delta_log"

Say = Callable[[str], None]


def roots() -> dict[str, str]:
    """What is kept in folders, by its name in a backup."""
    weir = settings.WEIR
    return {"lake": weir.lake_root, "runs": weir.runs_root, "plans": weir.plans_root, "reports": weir.reports_root}


def make(folder: Path, now: datetime, passphrase: str, say: Say) -> Contents:
    """Raises :class:`BackupRefused`. Broken off, it is no backup; called again with the same folder it goes on."""
    _check_places(folder)
    archive = Archive(folder)
    archive.begin()
    contents = Contents(now.isoformat(), connection.vendor, database.last_migrations(), roots=roots())
    _put_database(archive, contents)
    say(f"database: {sum(contents.files[name][0] for name in contents.files):,} bytes")
    _write_keys(archive, contents, passphrase)
    _put_lake(archive, contents)
    say(f"lake: {len(contents.lake)} tables, {_size(contents, 'lake/'):,} bytes")
    for name, sources in (("runs", _runs()), ("plans", [settings.WEIR.plans_root]), ("reports", [settings.WEIR.reports_root])):
        for source in sources:
            _put_tree(archive, contents, name, Path(roots()[name]), Path(source), never_changes=name == "runs")
        say(f"{name}: {_size(contents, f'{name}/'):,} bytes")
    for name in IN_HOME:
        _put_tree(archive, contents, f"home/{name}", settings.WEIR.home / name, settings.WEIR.home / name)
    archive.finish(contents)
    return contents


def _check_places(folder: Path) -> None:
    elsewhere = [f"{name} ({place})" for name, place in roots().items() if "://" in place]
    if elsewhere:
        raise BackupRefused(
            f"Only folders are copied, and these lie elsewhere: {', '.join(elsewhere)}. Use snapshots or versions of that storage, and a "
            "dump of the database that is older than these."
        )
    for place in (settings.WEIR.home, *map(Path, roots().values())):
        if folder.resolve().is_relative_to(place.resolve()):
            raise BackupRefused(f"{folder} lies in {place}, which would be lost together with it; name a folder elsewhere.")


def _put_database(archive: Archive, contents: Contents) -> None:
    if contents.database == "sqlite":
        draft = archive.folder / "database" / f".{database.SQLITE_NAME}.draft"
        database.dump_sqlite(draft)
        archive.put(draft, f"database/{database.SQLITE_NAME}", contents)
        draft.unlink()
        return
    drafts = archive.folder / ".tables"
    contents.rows = database.dump_postgresql(drafts)
    for draft in sorted(drafts.glob("*.copy.gz")):
        archive.put(draft, f"database/{draft.name}", contents)


def _write_keys(archive: Archive, contents: Contents, passphrase: str) -> None:
    draft = archive.folder / f".{keys.NAME}.draft"
    draft.touch(mode=0o600)
    draft.write_bytes(keys.packed(passphrase))
    archive.put(draft, keys.NAME, contents)
    draft.unlink()


def _put_lake(archive: Archive, contents: Contents) -> None:
    lake = LakeReader(settings.WEIR.lake_root)
    for name, table in ALL_TABLES.items():
        delta = lake.open_or_none(table)
        if delta is None:
            continue
        version = contents.lake[name] = delta.version()
        folder = Path(settings.WEIR.lake_root) / name
        for path in sorted((folder / LOG).iterdir()):
            # Checkpoints of the log are made of it again; which is the newest is said in a file that changes.
            if (path.suffix == ".json" and path.stem.isdigit() and int(path.stem) <= version) or (
                ".checkpoint" in path.name and path.name[:20].isdigit() and int(path.name[:20]) <= version
            ):
                archive.put(path, f"lake/{name}/{LOG}/{path.name}", contents, never_changes=True)
        for uri in delta.file_uris():
            path = Path(unquote(uri.removeprefix("file://")))
            archive.put(path, f"lake/{name}/{path.relative_to(folder).as_posix()}", contents, never_changes=True)


def _runs() -> Iterator[str]:
    """Run directories that something still needs: the next cycle, a run that is not loaded, plans and questions about an audit."""
    loaded = Manifest.objects.filter(state=Manifest.State.LOADED).exclude(path="").order_by("-id")[:RUNS_NEEDED]
    pending = Manifest.objects.exclude(state=Manifest.State.LOADED)
    yield from {str(Path(row.path).parent) for row in (*loaded, *pending)}
    yield from StorageAudit.objects.filter(files_kept=True).exclude(run_dir="").values_list("run_dir", flat=True)


def _put_tree(archive: Archive, contents: Contents, name: str, root: Path, folder: Path, *, never_changes: bool = False) -> None:
    """What is removed meanwhile is passed over; what is not below its root belongs to somebody else."""
    if not folder.resolve().is_relative_to(root.resolve()):
        return
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            try:
                archive.put(path, f"{name}/{path.relative_to(root).as_posix()}", contents, never_changes=never_changes)
            except FileNotFoundError:
                continue


def _size(contents: Contents, begins: str) -> int:
    return sum(size for name, (size, _) in contents.files.items() if name.startswith(begins))

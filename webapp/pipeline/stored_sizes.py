"""Sizes of Weir's data, measured every few minutes; pages, metrics and the disk budget use the last
measurement.
"""

import logging
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fsspec
from django.conf import settings

from ingest.lake.derived import ALL_TABLES
from ingest.messages import message
from webapp.pipeline import database_sizes
from webapp.work.lease import Lease
from webapp.work.models import KeptSize
from webapp.work.runs import RunRecord, describe


@dataclass(frozen=True)
class Usage:
    """``oldest_at``: the modification time of the oldest file."""

    size_bytes: int = 0
    files: int = 0
    oldest_at: datetime | None = None

    def __add__(self, other: "Usage") -> "Usage":
        known = [at for at in (self.oldest_at, other.oldest_at) if at]
        return Usage(
            self.size_bytes + other.size_bytes, self.files + other.files, min(known, default=None)
        )


def held(place: str | Path) -> Usage:
    """The size of a file, or of everything below a folder; empty if missing. Links are not
    followed. Raises ``OSError``.
    """
    total = Usage()
    if "://" in str(place):
        return sum((Usage(size, 1) for size in _sizes_elsewhere(str(place))), total)
    for status in _stats(str(place)):
        total += Usage(status.st_size, 1, datetime.fromtimestamp(status.st_mtime, UTC))
    return total


def _stats(path: str) -> Iterator[os.stat_result]:
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            yield os.lstat(path)
            return
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _stats(entry.path)
                else:
                    try:
                        yield entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
    except FileNotFoundError:
        return


def _sizes_elsewhere(uri: str) -> Iterator[int]:
    filesystem, path = fsspec.core.url_to_fs(uri)
    if filesystem.exists(path):
        yield from (
            int(found.get("size") or 0) for found in filesystem.find(path, detail=True).values()
        )


KEY = "maintenance/sizes"
EVERY_S = 600
TABLES_EVERY = timedelta(hours=1)

PUSHED = ("pushed", "pulled", "pushed-metrics")
RUN_KINDS = ("spark", "rollups", "storage")

logger = logging.getLogger(__name__)


def measure(now: datetime, lease: Lease, record: RunRecord) -> None:
    sizes = [*_database(now), *_lake(now), *_folders(now)]
    areas = {row.area for row in sizes}
    with lease.writing():
        KeptSize.objects.filter(area__in=areas).delete()
        KeptSize.objects.bulk_create(sizes, batch_size=200)
    record.counts |= {
        "parts": len(sizes),
        "bytes": sum(row.size_bytes or 0 for row in sizes if row.area != "tables"),
    }


def _database(now: datetime) -> Iterator[KeptSize]:
    yield KeptSize(
        area="database", name=message("in all"), size_bytes=database_sizes.in_all(), as_of=now
    )
    newest = (
        KeptSize.objects.filter(area="tables")
        .order_by("-as_of")
        .values_list("as_of", flat=True)
        .first()
    )
    if newest is None or not timedelta() <= now - newest < TABLES_EVERY:
        for table in database_sizes.table_sizes():
            yield KeptSize(
                area="tables",
                name=table.name,
                size_bytes=table.size_bytes,
                rows=table.rows,
                as_of=now,
            )


def _lake(now: datetime) -> Iterator[KeptSize]:
    root = settings.WEIR.lake_root.rstrip("/")
    for name in ALL_TABLES:
        folder = f"{root}/{name}"
        commits, oldest_at = _log_of(Path(folder)) if "://" not in root else (None, None)
        yield _row(now, "lake", name, folder, commits=commits, oldest_at=oldest_at)


def _log_of(folder: Path) -> tuple[int | None, datetime | None]:
    log = folder / "_delta_log"
    if not log.is_dir():
        return None, None
    commits = max(
        (int(path.stem) for path in log.glob("*.json") if path.stem.isdigit()), default=None
    )
    days = sorted(path.name.removeprefix("date=") for path in folder.glob("date=*"))
    return commits, datetime.fromisoformat(days[0]).replace(tzinfo=UTC) if days else None


def _folders(now: datetime) -> Iterator[KeptSize]:
    home = settings.WEIR.home
    places = [
        settings.WEIR.lake_root,
        settings.WEIR.runs_root,
        settings.WEIR.plans_root,
        str(home / "logs"),
    ]
    yield from _runs(now)
    yield _row(now, "plans", message("plans and journals"), settings.WEIR.plans_root)
    yield _row(now, "logs", message("log files"), home / "logs")
    for name in PUSHED:
        yield _row(now, "pushed", name, home / name)
    database = Path(settings.WEIR.sqlite_file).name
    counted = {*(Path(place).name for place in places if Path(place).parent == home), *PUSHED}
    rest = [
        path
        for path in home.glob("*")
        if path.name not in counted and not (database and path.name.startswith(database))
    ]
    yield KeptSize(
        area="other",
        name=message("everything else in WEIR_HOME"),
        as_of=now,
        **_fields(sum(map(held, rest), Usage())),
    )


def _runs(now: datetime) -> Iterator[KeptSize]:
    root = settings.WEIR.runs_root
    if "://" in root:
        yield _row(now, "runs", message("in all"), root)
        return
    known = sorted(Path(root).glob("*"))
    for kind in RUN_KINDS:
        of_kind = [path for path in known if path.name.startswith(f"{kind}-")]
        yield KeptSize(
            area="runs",
            name=message(
                "{kind:name}: {of_kind:number} run directories", kind=kind, of_kind=len(of_kind)
            ),
            as_of=now,
            **_fields(sum(map(held, of_kind), Usage())),
        )


def _row(
    now: datetime,
    area: str,
    name: str,
    place: str | Path,
    commits: int | None = None,
    oldest_at: datetime | None = None,
) -> KeptSize:
    try:
        size = held(place)
    except (OSError, ValueError, ImportError) as error:
        logger.warning("%s cannot be measured: %s", place, describe(error))
        return KeptSize(area=area, name=name, as_of=now)
    return KeptSize(
        area=area,
        name=name,
        as_of=now,
        commits=commits,
        **{**_fields(size), **({"oldest_at": oldest_at} if oldest_at else {})},
    )


def _fields(size: Usage) -> dict[str, object]:
    return {"size_bytes": size.size_bytes, "files": size.files, "oldest_at": size.oldest_at}

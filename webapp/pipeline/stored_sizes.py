"""Sizes of Weir's data by area, measured every few minutes for pages, metrics and the disk budget."""

import logging
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import fsspec
from django.conf import settings
from django.db import connection

from webapp.work.lease import Lease
from webapp.work.models import KeptSize
from webapp.work.runs import RunRecord, describe

KEY = "maintenance/sizes"
EVERY_S = 600
PUSHED = ("pushed", "pulled", "pushed-metrics")

logger = logging.getLogger(__name__)


def measure(now: datetime, lease: Lease, record: RunRecord) -> None:
    sizes: dict[str, int | None] = {"database": _database_bytes()}
    for area, places in _places().items():
        sizes[area] = _sum_bytes(places)
    with lease.writing():
        for area, size_bytes in sizes.items():
            KeptSize.objects.update_or_create(
                area=area, defaults={"size_bytes": size_bytes, "as_of": now}
            )
    record.counts["bytes"] = sum(size_bytes or 0 for size_bytes in sizes.values())


def _places() -> dict[str, list[str]]:
    """Area → its files, folders and URIs."""
    weir, home = settings.WEIR, settings.WEIR.home
    places = {
        "lake": [weir.lake_root],
        "runs": [weir.runs_root],
        "plans": [weir.plans_root],
        "logs": [str(home / "logs")],
        "pushed": [str(home / name) for name in PUSHED],
    }
    in_an_area = {place for area in places.values() for place in area}
    other_paths = (str(path) for path in home.glob("*") if str(path) not in in_an_area)
    database = weir.sqlite_file
    places["other"] = [path for path in other_paths if not (database and path.startswith(database))]
    return places


def _database_bytes() -> int:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    file = settings.WEIR.sqlite_file or connection.settings_dict["NAME"]
    return sum(_bytes_of(f"{file}{end}") for end in ("", "-wal", "-shm"))


def _sum_bytes(places: list[str]) -> int | None:
    try:
        return sum(map(_bytes_of, places))
    except (OSError, ValueError, ImportError) as error:
        logger.warning("%s cannot be measured: %s", ", ".join(places), describe(error))
        return None


def _bytes_of(place: str) -> int:
    """The size of a file, or of everything below a folder; 0 if missing. Symbolic links are not
    followed.
    """
    return sum(_remote_sizes(place) if "://" in place else _local_sizes(Path(place)))


def _local_sizes(path: Path) -> Iterator[int]:
    try:
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode):
            yield status.st_size
            return
        children = list(path.iterdir())
    except FileNotFoundError:
        return
    for child in children:
        yield from _local_sizes(child)


def _remote_sizes(uri: str) -> Iterator[int]:
    filesystem, path = fsspec.core.url_to_fs(uri)
    if filesystem.exists(path):
        for entry in filesystem.find(path, detail=True).values():
            yield int(entry.get("size") or 0)

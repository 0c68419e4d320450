import re
from datetime import UTC, datetime, timedelta

import fsspec
from django.conf import settings
from django.utils import timezone

from webapp.work.models import Manifest, PipelineRun

_OURS = re.compile(r"^(?:spark|rollups)-(\d{8}T\d{6})-[0-9a-f]{8}$")
LEAST_AGE = timedelta(hours=1)


def of(run: PipelineRun, name: str = "") -> str:
    """The directory of this attempt, recorded in its row, so that a later attempt finds complete
    results. ``name``: instead of the attempt's tag, for work that is repeated in one directory.
    """
    run_dir = f"{settings.WEIR.runs_root.rstrip('/')}/{name or run.attempt}"
    PipelineRun.objects.filter(pk=run.pk).update(manifest_path=f"{run_dir}/manifest.json")
    return run_dir


def tidy(keep: int) -> int:
    """Remove run directories except the last ``keep``, those not loaded yet, and all younger than
    an hour. The last loaded run is always kept, for its state; roll-ups have none. Other folders
    are never touched. Returns how many were removed.
    """
    filesystem, root = fsspec.core.url_to_fs(settings.WEIR.runs_root)
    needed = set(
        Manifest.objects.filter(state=Manifest.State.LOADED)
        .order_by("-id")
        .values_list("attempt", flat=True)[:keep]
    )
    needed |= set(
        Manifest.objects.exclude(state=Manifest.State.LOADED).values_list("attempt", flat=True)
    )
    needed |= set(
        PipelineRun.objects.filter(state=PipelineRun.State.RUNNING).values_list(
            "attempt", flat=True
        )
    )
    removed = 0
    for path in filesystem.ls(root, detail=False) if filesystem.isdir(root) else []:
        name = str(path).rstrip("/").rpartition("/")[2]
        match = _OURS.match(name)
        if match and name not in needed and _made_at(match[1]) < timezone.now() - LEAST_AGE:
            filesystem.rm(path, recursive=True)
            removed += 1
    return removed


def _made_at(stamp: str) -> datetime:
    return datetime.strptime(stamp, "%Y%m%dT%H%M%S").replace(tzinfo=UTC)

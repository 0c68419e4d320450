import re
from datetime import UTC, datetime, timedelta

import fsspec
from django.conf import settings
from django.utils import timezone

from webapp.work.models import Manifest, PipelineRun

_RUN_DIR_NAME = re.compile(r"^(?:spark|rollups)-(\d{8}T\d{6})-[0-9a-f]{8}$")
LEAST_AGE = timedelta(hours=1)


def of(run: PipelineRun, name: str = "") -> str:
    """The URI of the attempt's directory. The path of its manifest is saved, so that a later
    attempt finds complete results.
    """
    run_dir = f"{settings.WEIR.runs_root.rstrip('/')}/{name or run.attempt}"
    PipelineRun.objects.filter(pk=run.pk).update(manifest_path=f"{run_dir}/manifest.json")
    return run_dir


def tidy(keep: int) -> int:
    """Remove run directories; returns how many. The last ``keep`` loaded cycles, unloaded cycles,
    running attempts and everything younger than an hour stay.
    """
    filesystem, root = fsspec.core.url_to_fs(settings.WEIR.runs_root)
    cycles = Manifest.objects.values_list("attempt", flat=True)
    runs = PipelineRun.objects.values_list("attempt", flat=True)
    needed = {
        *cycles.filter(state=Manifest.State.LOADED).order_by("-id")[:keep],
        *cycles.exclude(state=Manifest.State.LOADED),
        *runs.filter(state=PipelineRun.State.RUNNING),
    }
    removed = 0
    for path in filesystem.ls(root, detail=False) if filesystem.isdir(root) else []:
        name = str(path).rstrip("/").rpartition("/")[2]
        match = _RUN_DIR_NAME.match(name)
        if not match or name in needed:
            continue
        started_at = datetime.strptime(match[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        if started_at < timezone.now() - LEAST_AGE:
            filesystem.rm(path, recursive=True)
            removed += 1
    return removed

"""Collecting stops before a disk is full, and resumes by itself. Collected data is still processed."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db.models import Sum

from ingest.messages import message
from webapp.fleet.pipeline_status.problems import Problem
from webapp.work.models import KeptSize, PipelineAlarm

CODE = "disk.budget"
KEPT = "kept"
MORE_TO_RESUME = 1.1
"""Factor between the limits to stop and to resume, so that collecting does not alternate."""


def disks() -> Iterator[tuple[Path, int]]:
    """Each local disk once, with its free bytes."""
    devices = set()
    roots = (settings.WEIR.lake_root, settings.WEIR.runs_root)
    for folder in (
        settings.WEIR.home,
        Path(settings.WEIR.sqlite_file or settings.WEIR.home).parent,
        *(Path(root) for root in roots if "://" not in root),
    ):
        if not folder.is_dir():
            continue
        device = folder.stat().st_dev
        if device not in devices:
            devices.add(device)
            yield folder, shutil.disk_usage(folder).free


def kept_bytes() -> int:
    return KeptSize.objects.aggregate(total=Sum("size_bytes"))["total"] or 0


def problems() -> list[Problem]:
    faults = []
    least = settings.WEIR.least_free_mb * 1_000_000
    for folder, free_bytes in disks():
        resume_bytes = least * MORE_TO_RESUME
        if free_bytes < least or (free_bytes < resume_bytes and _is_stopped(str(folder))):
            detail = message(
                "Nothing is collected: the disk of {folder:name} has {mb:text} free, and Weir "
                "leaves {mb2:text} free (WEIR_LEAST_FREE_MB). It resumes by itself at "
                "{mb3:text}.",
                folder=str(folder),
                mb=_mb(free_bytes),
                mb2=_mb(least),
                mb3=_mb(resume_bytes),
            )
            faults.append(Problem(CODE, str(folder), detail))
    if most := settings.WEIR.most_kept_mb * 1_000_000:
        stored_bytes, resume_bytes = kept_bytes(), most / MORE_TO_RESUME
        if stored_bytes > most or (stored_bytes > resume_bytes and _is_stopped(KEPT)):
            detail = message(
                "Nothing is collected: Weir stores {mb:text}, and may store {mb2:text} "
                "(WEIR_MOST_KEPT_MB). It resumes by itself below {mb3:text}.",
                mb=_mb(stored_bytes),
                mb2=_mb(most),
                mb3=_mb(resume_bytes),
            )
            faults.append(Problem(CODE, KEPT, detail))
    return faults


def why_stopped() -> str:
    """Why nothing is collected; "" if there is room."""
    return next((problem.detail for problem in problems()), "")


def _is_stopped(subject: str) -> bool:
    return PipelineAlarm.objects.filter(
        code=CODE, subject=subject, cleared_at__isnull=True
    ).exists()


def _mb(size_bytes: float) -> str:
    return message("{size_bytes:count} MB", size_bytes=size_bytes / 1000000)

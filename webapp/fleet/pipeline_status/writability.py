"""Whether Weir can write, found out without a write: pages wait for no lock."""

import os
from pathlib import Path

from django.conf import settings
from django.db import connection

from ingest.messages import message
from webapp.fleet.pipeline_status import disk_budget
from webapp.fleet.pipeline_status.problems import Problem

LEAST_FREE_BYTES = 16 << 20
"""With less, the next write of a cycle may fail."""


def problems() -> list[Problem]:
    faults = []
    if _is_read_only():
        detail = message(
            "The database is read-only: nothing new is stored, and the pages become outdated."
        )
        faults.append(Problem("database.read_only", connection.vendor, detail))
    for folder, free_bytes in disk_budget.disks():
        if free_bytes < LEAST_FREE_BYTES:
            detail = message(
                "The disk of {folder:name} is full ({free_bytes:count} kB left): nothing new is "
                "stored until there is room.",
                folder=str(folder),
                free_bytes=free_bytes // 1000,
            )
            faults.append(Problem("disk.full", str(folder), detail))
    return faults + disk_budget.problems()


def _is_read_only() -> bool:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Also "on" if the server is a standby.
            cursor.execute("SHOW transaction_read_only")
            return bool(cursor.fetchone()[0] == "on")
        cursor.execute("PRAGMA query_only")
        is_query_only = bool(cursor.fetchone()[0])
    file = settings.WEIR.sqlite_file
    return is_query_only or bool(file and Path(file).exists() and not os.access(file, os.W_OK))

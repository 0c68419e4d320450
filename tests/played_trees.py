"""Checkpoint directories that a real Flink left when an incident was played, laid out again and
audited.
"""

import gzip
import json
import os
import tarfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.played import FOLDER
from tests.spark_jobs.storage.audits import Audited, Auditor

METADATA = "/_metadata"
FINAL = "final"


class PlayedFile(NamedTuple):
    """``path`` below the root; ``modified`` in seconds since 1970."""

    path: str
    bytes: int
    modified: float


def listed(played: str, at: str = FINAL) -> list[PlayedFile]:
    lines = (
        gzip.decompress((FOLDER / played / f"listing-{at}.tsv.gz").read_bytes())
        .decode()
        .splitlines()
    )
    return [
        PlayedFile(path, int(size), float(modified))
        for path, size, modified in (line.split("\t") for line in lines)
    ]


def root_uri(played: str) -> str:
    how = json.loads((FOLDER / played / "played.json").read_text())
    return f"hdfs://lab{how['root']}" if how.get("counts_calls") else f"file:{how['root']}"


def newest(played: str, at: str = FINAL) -> datetime:
    return datetime.fromtimestamp(max(file.modified for file in listed(played, at)), UTC)


def lay_out(played: str, directory: Path, at: str = FINAL) -> None:
    """The directory again: real ``_metadata``, sparse files in place of the payload."""
    with tarfile.open(
        FOLDER / played / ("metadata.tar.gz" if at == FINAL else f"metadata-{at}.tar.gz")
    ) as archive:
        archive.extractall(directory, filter="data")
    for path, size, modified in listed(played, at):
        file = directory / path
        if not path.endswith(METADATA):
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as out:
                out.truncate(size)
        os.utime(file, (modified, modified))


def audited(
    played: str, folder: Path, times: Sequence[tuple[str, datetime]], jobs: Sequence[dict[str, Any]]
) -> list[Audited]:
    """Audits one after the other, each of the tree as it was ``at`` a time; their ids are
    ``run-1``, ``run-2`` …
    """
    (folder / "audits").mkdir()
    found = []
    auditor = Auditor(folder / "audits")
    for number, (at, as_of) in enumerate(times, 1):
        tree = folder / f"tree-{at}"
        lay_out(played, tree, at)
        root = {
            "uri": root_uri(played),
            "read_at": str(tree),
            "clusters": ["lab"],
            "attested": False,
        }
        asked = {
            "audit_id": f"run-{number}",
            "as_of": as_of,
            "age_guard_h": 72,
            "jobs": list(jobs),
            "roots": [root],
        }
        found.append(auditor.audit([asked]))
    return found

"""The operators and subtasks that need a file, read out of the ``_metadata`` that refer to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from ingest.errors import IngestError
from webapp.cleanup.missing_files.referrers import Referrer, reported_jobs
from webapp.cleanup.missing_files.written_paths import NamedFile
from webapp.storage.xray import xray_reader
from webapp.storage.xray.location import NotLocated, located

MOST_READ = 3
"""``_metadata`` files that are opened for the operators in them."""
MOST_HANDLES = 50


@dataclass(frozen=True)
class Handle:
    """One use of the file in a ``_metadata``."""

    metadata_path: str
    operator_id: str
    operator: str
    subtask: int | None
    kind: str
    state_bytes: int | None


def handles(
    file: NamedFile, referrers: Sequence[Referrer], unknown: list[str]
) -> tuple[Handle, ...]:
    handles_found: list[Handle] = []
    jobs = reported_jobs((referrer.cluster, referrer.job_id) for referrer in referrers[:MOST_READ])
    for referrer in referrers[:MOST_READ]:
        try:
            rows = xray_reader.handles_of(located(referrer.metadata_path), file.path)
        except (NotLocated, IngestError, OSError) as error:
            unknown.append(
                gettext(
                    "%(metadata_path)s could not be read for the operators that need the file: "
                    "%(error)s"
                )
                % {"metadata_path": referrer.metadata_path, "error": error}
            )
            continue
        graph: dict[str, Any] = (
            job.graph if (job := jobs.get((referrer.cluster, referrer.job_id))) else None
        ) or {}
        names = {
            vertex.get("vertex_id"): vertex.get("name") for vertex in graph.get("vertices") or ()
        }
        handles_found += [
            Handle(
                referrer.metadata_path,
                row["operator_id"],
                row["operator_name"] or names.get(row["operator_id"]) or "",
                row["subtask"],
                row["kind"],
                row["state_bytes"],
            )
            for row in rows
        ]
    return tuple(handles_found[:MOST_HANDLES])

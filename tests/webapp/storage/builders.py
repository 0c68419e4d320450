"""Rows of audits for tests: each builder takes what the test is about and fills in the rest."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from django.db.models import Model

from spark_jobs import manifest as manifests
from spark_jobs.arrow_schemas import arrow_schema
from spark_jobs.audit_tables import AUDIT_TABLES, FILE_TABLES
from spark_jobs.manifest import Manifest, Output
from tests.webapp.builders import T0
from webapp.storage.choices import AuditState
from webapp.storage.models import (
    AUDIT_MODELS,
    AuditDoubt,
    ChainLink,
    CheckpointStorage,
    JobStorage,
    MissingFile,
    RootFigures,
    StorageAudit,
    StorageRoot,
    StorageStatement,
    VerdictFigures,
)

ROOT = "s3://bucket/checkpoints"
JOB, OTHER_JOB = "a" * 32, "b" * 32
ModelT = TypeVar("ModelT", bound=Model)
COUNTS = {
    f"{name}_{unit}": 0
    for name in ("live", "retained_waste", "orphan", "recent", "kept", "missing")
    for unit in ("files", "bytes")
}
MERGED = {"segmented_files": 0, "segmented_file_bytes": 0, "live_segment_bytes": 0}


def root(uri: str = ROOT, **fields: Any) -> StorageRoot:
    return StorageRoot.objects.create(uri=uri, **fields)


def audit(audit_id: str = "storage-1", *, as_of: datetime = T0, **fields: Any) -> StorageAudit:
    """A loaded one."""
    row = {"state": AuditState.LOADED, "roots": [ROOT], "files_kept": False, **fields}
    return StorageAudit.objects.create(audit_id=audit_id, as_of=as_of, **row)


def root_figures(of: StorageAudit, uri: str = ROOT, **fields: Any) -> RootFigures:
    row = {
        **COUNTS,
        "as_of": of.as_of,
        "files": 10,
        "bytes": 1_000_000,
        "live_files": 7,
        "live_bytes": 700_000,
        "orphan_files": 3,
        "orphan_bytes": 300_000,
        "metadata_files": 2,
        "checkpoints": 2,
        "unlisted": 0,
        "doubts": 0,
        "cleanable": True,
        "not_cleanable": [],
        **fields,
    }
    return RootFigures.objects.create(audit=of, root=uri, **row)


def verdict_figures(of: StorageAudit, uri: str = ROOT, **fields: Any) -> VerdictFigures:
    row = {
        "verdict": "orphan",
        "reason": "unreferenced",
        "kind": "dead_job",
        "files": 3,
        "bytes": 300_000,
        **fields,
    }
    return VerdictFigures.objects.create(audit=of, root=uri, **row)


def job_storage(of: StorageAudit, job_id: str = JOB, uri: str = ROOT, **fields: Any) -> JobStorage:
    row = {
        **COUNTS,
        **MERGED,
        "directory": f"{uri}/{job_id}",
        "cluster": "prod-eu",
        "job_name": "clickstream",
        "files": 10,
        "bytes": 1_000_000,
        "small_files": 1,
        "foreign_files": 0,
        "foreign_bytes": 0,
        "checkpoints": 2,
        **fields,
    }
    return JobStorage.objects.create(audit=of, root=uri, job_id=job_id, **row)


def checkpoint_storage(
    of: StorageAudit, checkpoint_id: int = 7, job_id: str = JOB, uri: str = ROOT, **fields: Any
) -> CheckpointStorage:
    row = {
        "metadata_path": f"{uri}/{job_id}/chk-{checkpoint_id}/_metadata",
        "checkpoint_id": checkpoint_id,
        "is_savepoint": False,
        "files": 4,
        "bytes": 400_000,
        "foreign_files": 0,
        "foreign_bytes": 0,
        "missing_files": 0,
        "missing_bytes": 0,
        "self_contained": True,
        "relocatable": False,
        "resolvable": True,
        "verdict": "live",
        **fields,
    }
    return CheckpointStorage.objects.create(audit=of, root=uri, job_id=job_id, **row)


def unprotected_fleet(job_ids: Sequence[str]) -> StorageAudit:
    """An audit that found the newest checkpoint of each of these jobs without two of its files."""
    of = audit()
    root_figures(of)
    kept = job_storage(of, job_ids[0], newest_checkpoint_id=7)
    lacking = checkpoint_storage(
        of, 7, job_ids[0], cluster="prod-eu", missing_files=2, missing_bytes=100, resolvable=False
    )
    JobStorage.objects.bulk_create(
        _again(kept, job_id=job_id, directory=f"{ROOT}/{job_id}") for job_id in job_ids[1:]
    )
    CheckpointStorage.objects.bulk_create(
        _again(lacking, job_id=job_id, metadata_path=f"{ROOT}/{job_id}/chk-7/_metadata")
        for job_id in job_ids[1:]
    )
    return of


def _again(row: ModelT, **fields: Any) -> ModelT:
    """A copy that is not saved yet."""
    made = copy(row)
    for name, value in {"pk": None, **fields}.items():
        setattr(made, name, value)
    return made


def chain(
    of: StorageAudit,
    job_id: str = JOB,
    other_job_id: str = OTHER_JOB,
    uri: str = ROOT,
    **fields: Any,
) -> ChainLink:
    ends = {"directory": f"{uri}/{job_id}", "other_directory": f"{uri}/{other_job_id}"}
    row = {"kind": "refers", "files": 12, "bytes": 5_000_000, "checkpoints": 1, **ends, **fields}
    return ChainLink.objects.create(
        audit=of, root=uri, job_id=job_id, other_job_id=other_job_id, **row
    )


def missing(
    of: StorageAudit, path: str = f"{ROOT}/{JOB}/shared/gone", uri: str = ROOT, **fields: Any
) -> MissingFile:
    row = {
        "metadata_path": f"{uri}/{JOB}/chk-7/_metadata",
        "bytes": 100,
        "superseded": False,
        **fields,
    }
    return MissingFile.objects.create(audit=of, root=uri, path=path, **row)


def doubt(
    of: StorageAudit, subject: str = f"{ROOT}/{JOB}/chk-9/_metadata", **fields: Any
) -> AuditDoubt:
    return AuditDoubt.objects.create(
        audit=of,
        subject=subject,
        **{
            "root": ROOT,
            "reason": "damaged_metadata",
            "detail": "at byte 8",
            "reach": "all_roots",
            "places": [],
            "more_places": 0,
            "blocked_files": 3,
            "blocked_bytes": 300,
            "statements": [{"kind": "dead_job", "subject": f"{ROOT}/{JOB}"}],
            **fields,
        },
    )


def whole_audit(
    audit_id: str = "storage-1", *, as_of: datetime = T0, **fields: Any
) -> StorageAudit:
    """One row of every table, and a statement."""
    of = audit(audit_id, as_of=as_of, **fields)
    root_figures(of)
    verdict_figures(of)
    job_storage(of)
    checkpoint_storage(of)
    chain(of)
    missing(of)
    doubt(of)
    StorageStatement.objects.get_or_create(
        kind="excluded",
        subject=f"{ROOT}/tables",
        defaults={"reason": "tables", "stated_name": "olga", "stated_at": T0},
    )
    return of


def file_row(path: str, audit_id: str = "storage-1", **fields: Any) -> dict[str, Any]:
    row = dict.fromkeys(FILE_TABLES["storage_file"].column_names) | {
        "audit_id": audit_id,
        "root": ROOT,
        "path": path,
        "listed_path": path,
        "bytes": 100,
        "modified": T0,
        "first_seen_at": T0,
        "verdict": "orphan",
        "reason": "unreferenced",
        "kind": "dead_job",
        "place": "shared",
        "job_id": JOB,
    }
    return row | fields


def take_up(rows: Callable[[str], Iterable[Mapping[str, Any]]]) -> None:
    """The rows of each of Spark's tables."""
    for table, model in AUDIT_MODELS.items():
        model._default_manager.bulk_create(model(**row) for row in rows(table))


def write_run(run_dir: Path, audit_id: str, tables: dict[str, list[list[dict[str, Any]]]]) -> str:
    """A run as Spark leaves it: table → parts → rows; returns the path of its manifest."""
    outputs = {}
    for name, parts in tables.items():
        files = []
        for number, rows in enumerate(parts):
            file = f"tables/{name}/part-{number:05d}.parquet"
            (run_dir / file).parent.mkdir(parents=True, exist_ok=True)
            schema = arrow_schema({**AUDIT_TABLES, **FILE_TABLES}[name])
            pq.write_table(pa.Table.from_pylist(rows, schema), run_dir / file, row_group_size=4)
            files.append(file)
        outputs[name] = Output(sum(map(len, parts)), tuple(files))
    return manifests.write(Manifest("audit", audit_id, {}, {}, outputs, {}, T0, T0), str(run_dir))

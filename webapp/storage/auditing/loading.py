"""Loads a complete audit into the database in short transactions. It may be loaded repeatedly."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.db import models
from django.utils import timezone

from spark_jobs.audit_tables import AUDIT_TABLES, FILE_TABLES
from spark_jobs.manifest import Manifest
from spark_jobs.serving import ServingTable
from webapp.storage.choices import AuditState
from webapp.storage.models import AUDIT_MODELS, StorageAudit
from webapp.work import run_files
from webapp.work.lease import Lease
from webapp.work.texts import bounded, clean_json

KNOWN_TABLES: dict[str, ServingTable] = {**AUDIT_TABLES, **FILE_TABLES}


def read_manifest(audit: StorageAudit) -> Manifest:
    """Raises ``BadManifest`` if the audit is incomplete."""
    return run_files.read_manifest(audit.manifest_path, audit.audit_id, KNOWN_TABLES)


def load(
    audit: StorageAudit, manifest: Manifest, lease: Lease, say: Callable[[str], None]
) -> dict[str, int]:
    """Returns table → number of rows. No page shows the audit until :func:`finish`."""
    row_counts: dict[str, int] = {}
    for name, model in AUDIT_MODELS.items():
        if name not in manifest.tables:
            continue
        converters = _converters(AUDIT_TABLES[name], model)
        for rows in run_files.batches(manifest, name, KNOWN_TABLES):
            instances = [
                model(**{field: convert(row[field]) for field, convert in converters.items()})
                for row in rows
            ]
            with lease.writing():
                # Rows of an audit never change: rows that a killed process loaded stay.
                model._default_manager.bulk_create(instances, ignore_conflicts=True)
        row_counts[name] = manifest.tables[name].rows
        if row_counts[name]:
            say(f"loaded {name}: {row_counts[name]} rows")
    return row_counts


def finish(audit: StorageAudit, lease: Lease) -> None:
    """Marks the audit as loaded: pages show it from now on."""
    with lease.writing():
        audit.state, audit.finished_at = AuditState.LOADED, timezone.now()
        audit.save(update_fields=["state", "finished_at"])


def _converters(
    table: ServingTable, model: type[models.Model]
) -> Mapping[str, Callable[[Any], Any]]:
    return {
        column.name: _converter(
            column.kind, model._meta.get_field(column.name), column.name in table.key
        )
        for column in table.columns
    }


def _converter(kind: str, field: Any, is_key: bool) -> Callable[[Any], Any]:
    if kind == "json":
        return lambda document: _parse(clean_json(document))
    if kind == "text":
        return partial(bounded, longest=getattr(field, "max_length", None), unique=is_key)
    return lambda value: value


def _parse(document: str | None) -> Any:
    return None if document is None else json.loads(document)

from collections.abc import Iterable
from typing import Any

from django.db.models import Model
from rest_framework import serializers

from spark_jobs.audit_tables import STORAGE_FILE
from webapp.storage.models import (
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
from webapp.storage.presentation import shown_doubt, visible_doubt

_HIDDEN = ("id", "audit")
_FILE_COLUMNS = (
    "root",
    "path",
    "listed_path",
    "bytes",
    "modified",
    "first_seen_at",
    "verdict",
    "reason",
    "kind",
    "place",
    "cluster",
    "job_id",
    "checkpoint_id",
    "unreferenced_since",
    "last_referrer",
)
_BLOCKED = "null where it reaches into roots that you do not see"


class StorageRootSerializer(serializers.ModelSerializer[StorageRoot]):
    """A registered root."""

    clusters: Any = serializers.SlugRelatedField("name", many=True, read_only=True)
    attested = serializers.BooleanField(source="is_attested", read_only=True)

    class Meta:
        model = StorageRoot
        exclude = ("id", "attested_by")


class StorageAuditSerializer(serializers.ModelSerializer[StorageAudit]):
    """One audit. `as_of` is when its listing began."""

    class Meta:
        model = StorageAudit
        exclude = ("id", "run", "previous", "run_dir", "manifest_path")


class _AuditRow(serializers.ModelSerializer[Any]):
    audit_id = serializers.CharField(read_only=True)


def _serializer(model: type[Model], about: str) -> Any:
    meta = type("Meta", (), {"model": model, "exclude": _HIDDEN})
    return type(f"{model.__name__}Serializer", (_AuditRow,), {"__doc__": about, "Meta": meta})


RootFiguresSerializer = _serializer(
    RootFigures, "One root in one audit: files and bytes of each verdict."
)
VerdictFiguresSerializer = _serializer(
    VerdictFigures, "Files of one root by verdict, reason and kind."
)
JobStorageSerializer = _serializer(JobStorage, "The directories of one job in one root.")
CheckpointStorageSerializer = _serializer(
    CheckpointStorage, "One retained checkpoint or savepoint."
)
ChainLinkSerializer = _serializer(ChainLink, "`job_id` depends on `other_job_id`.")
MissingFileSerializer = _serializer(
    MissingFile, "A file that a checkpoint refers to and that is not there."
)


class AuditDoubtSerializer(_AuditRow):
    """What could not be read or known, how far the doubt reaches and what ends it. Places in roots
    that you do not see are left out.
    """

    blocked_files = serializers.IntegerField(allow_null=True, help_text=_BLOCKED)
    blocked_bytes = serializers.IntegerField(allow_null=True, help_text=_BLOCKED)
    actions = serializers.SerializerMethodField(help_text="what ends it, in sentences")

    def to_representation(self, instance: AuditDoubt) -> dict[str, Any]:
        return super().to_representation(visible_doubt(instance))

    def get_actions(self, doubt: AuditDoubt) -> list[str]:
        return [str(action) for action in shown_doubt(doubt).actions]

    class Meta:
        model = AuditDoubt
        exclude = _HIDDEN


class StorageStatementSerializer(serializers.ModelSerializer[StorageStatement]):
    """What an operator stated of a job, a directory or a file; `ended_at` is null while it counts."""

    class Meta:
        model = StorageStatement
        exclude = ("id", "stated_by")


_FIELDS: dict[str, Any] = {
    "text": serializers.CharField,
    "int": serializers.IntegerField,
    "instant": serializers.DateTimeField,
}


def file_fields(names: Iterable[str]) -> dict[str, Any]:
    """Fields of these columns of ``storage_file``."""
    columns = STORAGE_FILE.by_name
    return {
        name: _FIELDS[columns[name].kind](
            allow_null=not columns[name].required, help_text=columns[name].about
        )
        for name in names
    }


StorageFileSerializer: Any = type(
    "StorageFileSerializer",
    (serializers.Serializer,),
    {"__doc__": "One file that is not live.", **file_fields(_FILE_COLUMNS)},
)


class StorageFilesAnswer(serializers.Serializer[Any]):
    """A page of files.

    `after` is the parameter of the next page; null at the end. `incomplete`: the page ended early,
    after a million files.
    """

    audit_id = serializers.CharField()
    after = serializers.CharField(allow_null=True)
    incomplete = serializers.BooleanField()
    results = StorageFileSerializer(many=True)


class XrayAnswer(serializers.Serializer[Any]):
    """The contents of one `_metadata`; see the page of the same name."""

    xray = serializers.DictField()
    self_contained = serializers.BooleanField()
    relocatable = serializers.BooleanField()
    resolvable = serializers.BooleanField(allow_null=True)

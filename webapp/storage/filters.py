from typing import Any

from django.db.models import QuerySet

from spark_jobs.storage_words import CHAIN_KINDS, REACHES, VERDICTS
from webapp.lib.filter_sets import ListFilters
from webapp.lib.keysets import NEWEST_ROWS_FIRST, KeysetColumn
from webapp.lib.query_parameters import Choice, Flag, Text, Whole
from webapp.storage.choices import AuditState, RootKind, StatementKind
from webapp.storage.newest_audits import latest_audits


class RootFilters(ListFilters):
    kind = Choice(RootKind.values)
    enabled = Flag()
    order = (KeysetColumn("uri"), KeysetColumn("id"))


class AuditFilters(ListFilters):
    state = Choice(AuditState.values)
    time_field = "created_at"
    order = NEWEST_ROWS_FIRST


class RootFiguresFilters(ListFilters):
    audit_id = Text(about="of this audit")
    root = Text(about="its canonical URI")
    time_field = "as_of"


class AuditRowFilters(ListFilters):
    """Rows of one audit, or of the newest audit of each root."""

    audit_id = Text(about="of this audit; else of the newest one of each root")

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        rows = super().filter_queryset(queryset)
        return rows if "audit_id" in self.values else rows.filter(audit__in=latest_audits())


class RootRowFilters(AuditRowFilters):
    root = Text(about="its canonical URI")


class LargestFirst(RootRowFilters):
    order = (KeysetColumn("bytes", descending=True), KeysetColumn("id", descending=True))


class VerdictFilters(LargestFirst):
    verdict = Choice(tuple(VERDICTS))
    reason = Text()


class JobStorageFilters(LargestFirst):
    cluster = Text()
    job_id = Text()


class CheckpointStorageFilters(JobStorageFilters):
    checkpoint_id = Whole()
    self_contained = Flag()
    relocatable = Flag()
    resolvable = Flag()


class ChainFilters(LargestFirst):
    job_id = Text()
    other_job_id = Text()
    kind = Choice(CHAIN_KINDS)


class MissingFilters(RootRowFilters):
    metadata_path = Text()
    superseded = Flag()


class DoubtFilters(RootRowFilters):
    reason = Text()
    reach = Choice(tuple(REACHES))


class StatementFilters(ListFilters):
    kind = Choice(StatementKind.values)
    subject = Text(about="canonical directory or file")
    time_field = "stated_at"
    order = NEWEST_ROWS_FIRST

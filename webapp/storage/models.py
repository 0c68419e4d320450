from typing import TYPE_CHECKING, ClassVar, Self

from django.conf import settings
from django.db import models
from django.utils import timezone

from ingest.storage.instants import CLOCK_SKEW
from webapp.lib.messages.fields import MessageField, MessagesField
from webapp.lib.scoped_rows import fleet_wide, of_every, scoped, scoped_as
from webapp.lib.translations import gettext_lazy as _
from webapp.storage.choices import AuditPurpose, AuditState, RootKind, StatementKind

if TYPE_CHECKING:
    from ingest.storage.roots import Root

URI_LENGTH = 1000
MISSING_PATH_LENGTH = 600
"""A key has two of these paths and the id of an audit, and PostgreSQL indexes 2,700 bytes."""


class AuditRow(models.Model):
    audit = models.ForeignKey(
        "storage.StorageAudit", to_field="audit_id", on_delete=models.CASCADE, related_name="+"
    )

    class Meta:
        abstract = True


class RootRow(AuditRow):
    root = models.CharField(max_length=URI_LENGTH)

    class Meta:
        abstract = True


class JobInRoot(RootRow):
    """``cluster`` and ``job_id`` are empty if they are unknown."""

    cluster = models.CharField(max_length=100, blank=True)
    job_id = models.CharField(max_length=64, blank=True)

    class Meta:
        abstract = True


class VerdictCounts(models.Model):
    live_files = models.BigIntegerField()
    live_bytes = models.BigIntegerField()
    retained_waste_files = models.BigIntegerField()
    retained_waste_bytes = models.BigIntegerField()
    orphan_files = models.BigIntegerField()
    orphan_bytes = models.BigIntegerField()
    recent_files = models.BigIntegerField()
    recent_bytes = models.BigIntegerField()
    kept_files = models.BigIntegerField()
    kept_bytes = models.BigIntegerField()
    missing_files = models.BigIntegerField()
    missing_bytes = models.BigIntegerField()

    class Meta:
        abstract = True


class StorageRootQuerySet(models.QuerySet["StorageRoot"]):
    def audited(self) -> Self:
        return self.filter(enabled=True)


@of_every("clusters")
class StorageRoot(models.Model):
    """``uri`` is canonical, as in Flink's references; ``read_at`` is where Weir reads the same
    files, "" for ``uri`` itself.

    Nothing below a root may be cleaned unless an operator attests that every reader of it is known
    to Weir.
    """

    uri = models.CharField(max_length=1000, unique=True)
    read_at = models.CharField(
        max_length=1000,
        blank=True,
        help_text="where Weir reads it: another mount, or a copied tree",
    )
    kind = models.CharField(max_length=20, choices=RootKind.choices, default=RootKind.CHECKPOINTS)
    clusters = models.ManyToManyField(
        "fleet.Cluster",
        blank=True,
        related_name="storage_roots",
        help_text="that write to it or read from it",
    )
    enabled = models.BooleanField(default=True, help_text=_("audited on schedule"))
    quarantine_uri = models.CharField(
        max_length=1000, blank=True, help_text="where a clean-up moves files; outside all roots"
    )
    attested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="attested_storage_roots",
    )
    attested_name = models.CharField(
        max_length=200, blank=True, help_text="their name at that time"
    )
    attested_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar = StorageRootQuerySet.as_manager()

    class Meta:
        ordering = ["uri"]

    def __str__(self) -> str:
        return self.uri

    @property
    def place(self) -> "Root":
        # Loads Arrow, which most commands do not need.
        from ingest.storage.roots import Root

        return Root(self.uri, self.read_at or None)

    @property
    def is_attested(self) -> bool:
        return self.attested_at is not None


class StorageAuditQuerySet(models.QuerySet["StorageAudit"]):
    def loaded(self) -> Self:
        """Complete audits in the database; audits from the future are excluded."""
        return self.filter(state=AuditState.LOADED, as_of__lte=timezone.now() + CLOCK_SKEW)

    def unknown_to(self, audit: "StorageAudit") -> Self:
        """Audits that ``audit`` does not know: they were concurrent, or of an old inventory."""
        return (
            self.loaded()
            .filter(files_kept=True, as_of__lte=audit.as_of, finished_at__gt=audit.created_at)
            .exclude(pk=audit.pk)
        )

    def newest(self) -> "StorageAudit | None":
        return self.loaded().order_by("-as_of", "-id").first()


@fleet_wide()
class StorageAudit(models.Model):
    """``audit_id`` names the audit in every table. ``as_of`` is when its listing began.
    ``previous`` is the audit whose state this audit carries on; a file is an orphan only after two
    audits.
    """

    audit_id = models.CharField(max_length=64, unique=True)
    run = models.ForeignKey(
        "work.PipelineRun",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="storage_audits",
    )
    previous = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="followers"
    )
    purpose = models.CharField(
        max_length=16, choices=AuditPurpose.choices, default=AuditPurpose.SCHEDULED
    )
    state = models.CharField(max_length=16, choices=AuditState.choices, default=AuditState.RUNNING)
    roots = models.JSONField(default=list, help_text="canonical URIs it looked at")
    as_of = models.DateTimeField(null=True, blank=True)
    age_guard_h = models.PositiveIntegerField(default=72)
    fresh = models.BooleanField(default=False, help_text="every _metadata was parsed again")
    run_dir = models.CharField(max_length=1000, blank=True)
    manifest_path = models.CharField(max_length=1000, blank=True)
    files_kept = models.BooleanField(
        default=True, help_text="its verdicts by file are still on disk"
    )
    withheld = MessagesField(
        default=dict, blank=True, help_text="root → why its attestation does not count this time"
    )
    outside = models.JSONField(
        default=list,
        blank=True,
        help_text="where live clusters were known to write, below none of its roots",
    )
    error = MessageField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar = StorageAuditQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["state", "-as_of", "-id"], name="audit_newest")]

    def __str__(self) -> str:
        return f"{self.audit_id}: {self.state}"


@scoped_as("storage.StorageRoot", by="root", key="uri")
class RootFigures(RootRow, VerdictCounts):
    """Serving table ``storage_root``: one root in one audit.

    One row a day is kept for years, as the history of the root.
    """

    as_of = models.DateTimeField()
    files = models.BigIntegerField()
    bytes = models.BigIntegerField()
    metadata_files = models.BigIntegerField()
    checkpoints = models.BigIntegerField()
    replaced = models.BigIntegerField(null=True)
    unlisted = models.BigIntegerField()
    doubts = models.BigIntegerField()
    raw_bytes = models.BigIntegerField(null=True)
    cleanable = models.BooleanField()
    not_cleanable = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["audit", "root"], name="storage_root_key")]
        indexes = [models.Index(fields=["root", "-as_of"], name="storage_root_history")]

    def __str__(self) -> str:
        return f"{self.root} at {self.as_of:%Y-%m-%d %H:%M}"


@scoped_as("storage.StorageRoot", by="root", key="uri")
class VerdictFigures(RootRow):
    """Serving table ``storage_verdict``: files of one root by verdict, reason and kind."""

    verdict = models.CharField(max_length=32)
    reason = models.CharField(max_length=64)
    kind = models.CharField(max_length=64)
    files = models.BigIntegerField()
    bytes = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "root", "verdict", "reason", "kind"], name="storage_verdict_key"
            )
        ]

    def __str__(self) -> str:
        return f"{self.verdict} {self.reason}: {self.files}"


@scoped_as("storage.StorageRoot", by="root", key="uri")
class AuditDoubt(RootRow):
    """Serving table ``storage_doubt``: something that could not be read or known, and its reach."""

    subject = models.CharField(max_length=URI_LENGTH)
    reason = models.CharField(max_length=64)
    detail = MessageField(null=True)
    reach = models.CharField(max_length=16)
    places = models.JSONField()
    more_places = models.BigIntegerField()
    blocked_files = models.BigIntegerField()
    blocked_bytes = models.BigIntegerField()
    statements = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["audit", "subject", "reason"], name="storage_doubt_key")
        ]

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}"


@scoped()
class JobStorage(JobInRoot, VerdictCounts):
    """Serving table ``storage_job``: one job's directory.

    ``cluster`` is empty unless exactly one cluster is known to write to ``directory``.
    """

    directory = models.CharField(max_length=URI_LENGTH)
    job_name = models.TextField(null=True)
    terminal = models.BooleanField(null=True)
    files = models.BigIntegerField()
    bytes = models.BigIntegerField()
    segmented_files = models.BigIntegerField()
    segmented_file_bytes = models.BigIntegerField()
    live_segment_bytes = models.BigIntegerField()
    small_files = models.BigIntegerField()
    foreign_files = models.BigIntegerField()
    foreign_bytes = models.BigIntegerField()
    checkpoints = models.BigIntegerField()
    newest_checkpoint_id = models.BigIntegerField(null=True)
    newest_modified = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["audit", "directory"], name="storage_job_key")
        ]
        indexes = [
            models.Index(fields=["audit", "root", "-bytes", "-id"], name="storage_job_size"),
            models.Index(
                fields=["audit", "root", "-orphan_bytes", "-id"], name="storage_job_orphans"
            ),
            models.Index(fields=["cluster", "job_id", "audit"], name="storage_of_job"),
        ]

    def __str__(self) -> str:
        return f"{self.job_name or self.job_id} in {self.root}"

    @property
    def below_root(self) -> str:
        return self.directory.removeprefix(self.root).lstrip("/")


@scoped_as("storage.StorageRoot", by="root", key="uri")
class ChainLink(AuditRow):
    """Serving table ``storage_chain``: the job in ``directory`` depends on files of the job in
    ``other_directory``.

    ``directory`` is empty if it is unknown where the job writes.
    """

    directory = models.CharField(max_length=MISSING_PATH_LENGTH, blank=True)
    other_directory = models.CharField(max_length=MISSING_PATH_LENGTH)
    root = models.CharField(max_length=URI_LENGTH, blank=True)
    job_id = models.CharField(max_length=64)
    other_job_id = models.CharField(max_length=64)
    kind = models.CharField(max_length=32)
    files = models.BigIntegerField()
    bytes = models.BigIntegerField()
    checkpoints = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "directory", "job_id", "other_directory", "kind"],
                name="storage_chain_key",
            )
        ]

    def __str__(self) -> str:
        return f"{self.job_id} {self.kind} {self.other_job_id}"

    @property
    def end(self) -> str:
        """The depending job: its directory, else its id."""
        return self.directory or self.job_id


@scoped()
class CheckpointStorage(JobInRoot):
    """Serving table ``storage_checkpoint``: one checkpoint whose ``_metadata`` was read."""

    metadata_path = models.CharField(max_length=URI_LENGTH)
    checkpoint_id = models.BigIntegerField(null=True)
    is_savepoint = models.BooleanField()
    metadata_bytes = models.BigIntegerField(null=True)
    modified = models.DateTimeField(null=True)
    files = models.BigIntegerField()
    bytes = models.BigIntegerField()
    foreign_files = models.BigIntegerField()
    foreign_bytes = models.BigIntegerField()
    missing_files = models.BigIntegerField()
    missing_bytes = models.BigIntegerField()
    self_contained = models.BooleanField()
    relocatable = models.BooleanField()
    resolvable = models.BooleanField(null=True)
    previous_path = models.TextField(null=True)
    new_files = models.BigIntegerField(null=True)
    verdict = models.CharField(max_length=32)
    successor_job_id = models.CharField(max_length=64, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "metadata_path"], name="storage_checkpoint_key"
            )
        ]
        indexes = [
            models.Index(fields=["audit", "root", "-bytes", "-id"], name="storage_checkpoint_size"),
            models.Index(
                fields=["audit", "job_id", "checkpoint_id"], name="storage_checkpoint_of_job"
            ),
        ]

    def __str__(self) -> str:
        return self.metadata_path


@scoped_as("storage.StorageRoot", by="root", key="uri")
class MissingFile(AuditRow):
    """Serving table ``storage_missing``: a missing file that a checkpoint refers to."""

    metadata_path = models.CharField(max_length=MISSING_PATH_LENGTH)
    path = models.CharField(max_length=MISSING_PATH_LENGTH)
    root = models.CharField(max_length=URI_LENGTH, blank=True)
    bytes = models.BigIntegerField(null=True)
    superseded = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "metadata_path", "path"], name="storage_missing_key"
            )
        ]
        indexes = [models.Index(fields=["audit", "root", "id"], name="storage_missing_of_root")]

    def __str__(self) -> str:
        return self.path


@scoped()
class OperatorStateSize(JobInRoot):
    """Serving table ``storage_operator_state``: one operator in one checkpoint. Operators with
    little operator state have no row.
    """

    metadata_path = models.CharField(max_length=URI_LENGTH)
    operator_id = models.CharField(max_length=64)
    checkpoint_id = models.BigIntegerField(null=True)
    is_savepoint = models.BooleanField()
    modified = models.DateTimeField(null=True)
    operator_name = models.TextField(null=True)
    subtasks = models.BigIntegerField()
    operator_bytes = models.BigIntegerField()
    files = models.BigIntegerField()
    elements = models.BigIntegerField()
    union_elements = models.BigIntegerField()
    states = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "metadata_path", "operator_id"], name="storage_operator_state_key"
            )
        ]
        indexes = [models.Index(fields=["job_id", "audit"], name="storage_operator_state_of_job")]

    def __str__(self) -> str:
        return f"{self.operator_id} in {self.metadata_path}"


AUDIT_MODELS: dict[str, type[AuditRow]] = {
    "storage_root": RootFigures,
    "storage_verdict": VerdictFigures,
    "storage_job": JobStorage,
    "storage_checkpoint": CheckpointStorage,
    "storage_operator_state": OperatorStateSize,
    "storage_chain": ChainLink,
    "storage_missing": MissingFile,
    "storage_doubt": AuditDoubt,
}
"""Serving table → model, in the order in which they are loaded."""


class StorageStatementQuerySet(models.QuerySet["StorageStatement"]):
    def valid(self) -> Self:
        return self.filter(ended_at=None)


@fleet_wide()
class StorageStatement(models.Model):
    """``subject``: canonical directory or file; empty for a job known only by cluster and id.
    ``bytes``, ``modified`` and ``head_sha256`` identify a file. A statement counts until a person
    takes it back or an audit contradicts it; then ``ended_at`` is set.
    """

    kind = models.CharField(max_length=16, choices=StatementKind.choices)
    subject = models.CharField(max_length=URI_LENGTH, blank=True)
    cluster = models.CharField(max_length=100, blank=True)
    job_id = models.CharField(max_length=64, blank=True)
    bytes = models.BigIntegerField(null=True, blank=True)
    modified = models.DateTimeField(null=True, blank=True)
    head_sha256 = models.CharField(max_length=64, blank=True, help_text="of its first 4,096 bytes")
    reason = models.TextField()
    stated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    stated_name = models.CharField(max_length=200, help_text="their name at that time")
    stated_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_why = MessageField(blank=True)

    objects: ClassVar = StorageStatementQuerySet.as_manager()

    class Meta:
        ordering = ["-stated_at", "-id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject or f'{self.cluster}/{self.job_id}'}"

    @property
    def title(self) -> str:
        return self.subject or f"{self.cluster}/{self.job_id}"

    @property
    def place(self) -> str:
        """The directory of its files; a job id if the directory is unknown."""
        return self.subject or self.job_id

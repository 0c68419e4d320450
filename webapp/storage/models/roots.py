"""One directory tree that checkpoints are written to, and what an operator has said about it."""

from typing import ClassVar, Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext

from webapp.lib.scoped_rows import of_every
from webapp.lib.translations import gettext_lazy as _
from webapp.storage.choices import RootKind

MOST_REPLICATION = 512
"""``dfs.replication.max`` of HDFS."""


class StorageRootQuerySet(models.QuerySet["StorageRoot"]):
    def audited(self) -> Self:
        """Those that the schedule looks at."""
        return self.filter(enabled=True)


@of_every("clusters")
class StorageRoot(models.Model):
    """``uri`` is canonical, as Flink's references name it; ``read_at`` is where Weir reads the same
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
    audit_every_h = models.PositiveIntegerField(
        null=True, blank=True, help_text="hours between two audits; empty for the setting"
    )
    replication = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text=(
            "copies that HDFS stores of each block; empty: from Flink's configuration, "
            "otherwise unknown"
        ),
    )
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

    def clean(self) -> None:
        if self.audit_every_h == 0:
            raise ValidationError(
                {"audit_every_h": gettext("Give at least one hour, or nothing for the setting.")}
            )
        if self.replication is not None and not 1 <= self.replication <= MOST_REPLICATION:
            raise ValidationError(
                {
                    "replication": gettext("Give 1 to %(most_replication)s copies, or nothing.")
                    % {"most_replication": MOST_REPLICATION}
                }
            )

    @property
    def is_attested(self) -> bool:
        """Whether an operator attests that every reader of this root is known."""
        return self.attested_at is not None

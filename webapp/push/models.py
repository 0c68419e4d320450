from datetime import datetime, timedelta
from typing import ClassVar

from django.db import models, transaction
from django.utils.translation import gettext

from webapp.accounts.kept_tokens import Token, TokenQuerySet
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster
from webapp.lib.messages.fields import MessageField
from webapp.lib.refusals import ActionRefused
from webapp.lib.scoped_rows import scoped_as


class PushTokenQuerySet(TokenQuerySet):
    kind = "push_"

    def issue(
        self, cluster: Cluster, name: str, expires_at: datetime | None = None
    ) -> "tuple[PushToken, str]":
        return self.create_token(cluster=cluster, name=name, expires_at=expires_at)


@scoped_as("fleet.Cluster", by="cluster")
class PushToken(Token):
    """Allows to push logs, spans and metrics of its cluster only."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="push_tokens")
    lines = models.PositiveBigIntegerField(default=0, editable=False, help_text="taken")
    last_problem = MessageField(
        blank=True,
        editable=False,
        help_text="why records were skipped or a request was refused, last",
    )
    last_problem_at = models.DateTimeField(null=True, editable=False)

    objects: ClassVar = PushTokenQuerySet.as_manager()


MOST_TOKENS = 50


def issue(cluster: Cluster, name: str, days: int, now: datetime) -> tuple[PushToken, str]:
    """A token and its text; ``days``: 0 if it never expires. From then on, pushed logs are
    collected.
    """
    if cluster.kind != ClusterKind.LIVE:
        raise ActionRefused(
            gettext("%(name)s is a recording; nothing is pushed to it.") % {"name": cluster.name}
        )
    if cluster.push_tokens.count() >= MOST_TOKENS:
        raise ActionRefused(
            gettext("%(name)s has %(most)s tokens; revoke one first.")
            % {"name": cluster.name, "most": MOST_TOKENS}
        )
    with transaction.atomic():
        if not cluster.logs_are_pushed:
            cluster.logs_are_pushed = True
            cluster.save(update_fields=["logs_are_pushed"])
        return PushToken.objects.issue(cluster, name, now + timedelta(days=days) if days else None)

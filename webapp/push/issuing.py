"""Issuing tokens for shippers."""

from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext

from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster
from webapp.lib.refusals import ActionRefused
from webapp.push.models import PushToken

MOST_TOKENS = 50


def issue(cluster: Cluster, name: str, days: int, now: datetime) -> tuple[PushToken, str]:
    """A token and its text; ``days`` until it expires, 0 for never.

    From now on the collector follows what is pushed.
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

"""Disabling an endpoint, and notifying its owner."""

from datetime import datetime

from webapp.delivery import endpoint_notices, mail, outbox
from webapp.delivery.models import Endpoint


def disable(pk: int, reason: str, now: datetime) -> bool:
    """No further delivery is made or tried; its owner is notified by mail. Only the first call does anything."""
    if not Endpoint.objects.filter(pk=pk, enabled=True).update(enabled=False, disabled_at=now, disabled_reason=reason[:1000]):
        return False
    endpoint = Endpoint.objects.get(pk=pk)
    if endpoint.owner_email and mail.is_configured():
        outbox.queue_for(endpoint_notices.disabled(endpoint, reason, now), endpoint, mail_to=endpoint.owner_email)
    return True

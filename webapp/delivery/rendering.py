"""From a claimed row to the request of this attempt."""

from dataclasses import replace
from datetime import datetime

from django.core.exceptions import ImproperlyConfigured

from webapp.delivery.choices import FormatName
from webapp.delivery.formats.base import Addressee, Format, Outgoing, Rendered
from webapp.delivery.formats.registry import FORMATS
from webapp.delivery.models import Delivery
from webapp.delivery.notices import Notice


class CannotRender(Exception):
    """What was stored cannot be made into a request; trying again would not help."""


def format_of(row: Delivery) -> Format:
    return FORMATS[FormatName.EMAIL if row.mail_to else row.endpoint.format]


def rendered(row: Delivery, notice: Notice, at: datetime) -> Rendered:
    """Raises :class:`CannotRender`."""
    endpoint = row.endpoint
    try:
        to = Addressee(
            url=endpoint.url,
            message_id=row.uid,
            credential=endpoint.credential,
            secrets=endpoint.secrets_at(at),
            emails=(row.mail_to,) if row.mail_to else tuple(endpoint.emails),
        )
        found = format_of(row).render(notice.without_secrets(), to, at)
    except ImproperlyConfigured as error:
        raise CannotRender(str(error)) from None
    except Exception as error:
        # One notice that cannot be written must not hold up all others; its text may hold what is secret.
        raise CannotRender(f"It cannot be written as {endpoint.format} ({type(error).__name__}).") from error
    if isinstance(found, Outgoing):
        return replace(found, headers={**found.headers, "x-request-id": request_id(row)})
    return found


def request_id(row: Delivery) -> str:
    """Of this attempt; the receiver's log and ours can be held side by side by it."""
    return f"{row.uid}.{row.attempts + 1}"

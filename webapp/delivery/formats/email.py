from datetime import datetime

from webapp.delivery.formats.base import Addressee, Format, Mail
from webapp.delivery.formats.texts import (
    cut,
    evidence,
    first_alerts,
    line,
    location,
    mark,
    notes,
    period,
)
from webapp.delivery.notices import Notice, NoticeAlert
from webapp.delivery.titles import title_of

LONGEST_SUBJECT, MOST_WRITTEN = 180, 30


def render(notice: Notice, to: Addressee, at: datetime) -> Mail:
    return Mail(to.emails, cut(title_of(notice), LONGEST_SUBJECT), text_of(notice), to.message_id)


def text_of(notice: Notice) -> str:
    alerts, more = first_alerts(notice, MOST_WRITTEN)
    blocks = [title_of(notice), "\n\n".join(_block(alert) for alert in alerts)]
    if more:
        blocks.append(f"… and {more} more.")
    blocks.append(f"Weir, {notice.made_at:%Y-%m-%d %H:%M:%S} UTC, notice {notice.uid}")
    return "\n\n".join(blocks) + "\n"


def _block(alert: NoticeAlert) -> str:
    lines = [
        f"{mark(alert)}: {line(alert.title, 500)}",
        f"  Where: {location(alert)}",
        f"  When:  {period(alert)}",
        f"  Cause: {line(alert.cause, 1_500)}",
        f"  Next:  {line(alert.next_step, 1_000)}",
        *(f"  - {figure}" for figure in evidence(alert)),
        *(f"  {note}" for note in notes(alert)),
        *(f"  {name.capitalize()}: {address}" for name, address in alert.links.items()),
    ]
    return "\n".join(lines)


FORMAT = Format("email", render)

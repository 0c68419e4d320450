"""Texts in the history of alerts, stored in English."""

from django.utils.translation import gettext

from webapp.alerting.choices import EventKind
from webapp.lib.messages.rendering import localised

NOBODY = ": nobody, since no endpoint takes it"
_NOTICE = ", notice "


def stored(kind: str, uid: str) -> str:
    return f"{kind}{_NOTICE}{uid}" if uid else f"{kind}{NOBODY}"


def story_words(kind: str, comment: str) -> str:
    if kind == EventKind.NOTIFIED:
        return _notice_words(comment)
    if kind in (EventKind.MUTED, EventKind.UNMUTED, EventKind.NOT_NOTIFIED, EventKind.SEVERITY):
        return gettext(comment) if comment else ""
    return localised(comment) if kind == EventKind.RESOLVED else comment


def _notice_words(text: str) -> str:
    if text.endswith(NOBODY):
        return gettext("%(kind)s: nobody, since no endpoint takes it") % {
            "kind": gettext(text.removesuffix(NOBODY))
        }
    kind, mark, uid = text.partition(_NOTICE)
    if not mark:
        return text
    return gettext("%(kind)s, notice %(uid)s") % {"kind": gettext(kind), "uid": uid}

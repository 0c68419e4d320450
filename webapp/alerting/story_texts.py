"""Texts in the history of alerts: stored in English, shown in the page's language."""

from django.utils.translation import gettext

from webapp.alerting.choices import Happened
from webapp.lib.messages.rendering import localised

NOBODY = ": nobody, since no endpoint takes it"
_NOTICE = ", notice "


def stored(kind: str, uid: str) -> str:
    return f"{kind}{_NOTICE}{uid}" if uid else f"{kind}{NOBODY}"


def story_words(kind: str, comment: str) -> str:
    if kind == Happened.NOTIFIED:
        return _notice_words(comment)
    if kind in (Happened.MUTED, Happened.UNMUTED, Happened.NOT_NOTIFIED):
        return gettext(comment) if comment else ""
    return localised(comment) if kind == Happened.RESOLVED else comment


def _notice_words(text: str) -> str:
    if text.endswith(NOBODY):
        return gettext("%(kind)s: nobody, since no endpoint takes it") % {
            "kind": gettext(text.removesuffix(NOBODY))
        }
    kind, mark, uid = text.partition(_NOTICE)
    return (
        gettext("%(kind)s, notice %(uid)s") % {"kind": gettext(kind), "uid": uid} if mark else text
    )

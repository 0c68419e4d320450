"""Codes of audits and plans as the filter ``words`` and badges spell them, marked for translation."""

from django.utils.translation import gettext

from webapp.lib.translations import gettext_lazy as _

CODE_WORDS = (
    _("live"),
    _("retained waste"),
    _("orphan"),
    _("young"),
    _("kept"),
    _("referred"),
    _("snapshot"),
    _("restored from"),
    _("superseded"),
    _("unreferenced"),
    _("age guard"),
    _("in flight"),
    _("ended_lately"),
    _("first audit"),
    _("no checkpoint since"),
    _("unknown name"),
    _("savepoint"),
    _("no job level"),
    _("in doubt"),
    _("unreadable snapshot"),
    _("vanished"),
    _("bad time"),
    _("two owners"),
    _("job unseen"),
    _("task owned"),
    _("was referred"),
    _("other spelling"),
    _("unacknowledged"),
    _("failed checkpoint"),
    _("dead job"),
    _("merging remainder"),
    _("undeleted"),
    _("unknown"),
    _("metadata"),
    _("exclusive"),
    _("shared"),
    _("taskowned"),
    _("merged shared"),
    _("merged taskowned"),
    _("refers"),
    _("split distribute"),
    _("union"),
    _("broadcast"),
    _("checkpoints"),
    _("savepoints"),
    _("high availability"),
    _("quarantined"),
    _("changed"),
    _("gone"),
    _("judged_anew"),
    _("linked"),
    _("failed"),
    _("not reached"),
    _("restored"),
    _("occupied"),
    _("purged"),
    _("checkpoint"),
    _("local"),
)


def worded(code: str) -> str:
    """'age_guard' → 'age guard', in the language of whoever asks."""
    spaced = code.replace("_", " ")
    known = gettext(spaced)
    return known if known != spaced else gettext(code).replace("_", " ")

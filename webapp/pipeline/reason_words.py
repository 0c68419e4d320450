"""Why inputs were skipped: codes of ``ingest``, which the pipeline page translates."""

from django.utils.translation import gettext_noop

WORDS = (
    gettext_noop("bad json"),
    gettext_noop("bad line"),
    gettext_noop("bad metadata"),
    gettext_noop("bad name"),
    gettext_noop("bad path"),
    gettext_noop("bad payload"),
    gettext_noop("bad row"),
    gettext_noop("error"),
    gettext_noop("http error"),
    gettext_noop("no date"),
    gettext_noop("no header"),
    gettext_noop("no metadata"),
    gettext_noop("no text"),
    gettext_noop("not found"),
    gettext_noop("not json"),
    gettext_noop("over budget"),
    gettext_noop("redirected"),
    gettext_noop("refused"),
    gettext_noop("timeout"),
    gettext_noop("too large"),
    gettext_noop("unauthorized"),
    gettext_noop("unknown version"),
    gettext_noop("unreachable"),
    gettext_noop("unreadable file"),
    gettext_noop("unreadable metadata"),
)

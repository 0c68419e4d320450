"""Words of what runs count, as the pipeline page shows them: names of counts are codes, which it
translates.
"""

from django.utils.translation import gettext_noop

WORDS = (
    gettext_noop("alerts"),
    gettext_noop("bytes"),
    gettext_noop("changed"),
    gettext_noop("closed"),
    gettext_noop("clusters"),
    gettext_noop("copied bytes"),
    gettext_noop("copied files"),
    gettext_noop("deleted"),
    gettext_noop("deleted files"),
    gettext_noop("failed"),
    gettext_noop("files"),
    gettext_noop("findings"),
    gettext_noop("from"),
    gettext_noop("gone"),
    gettext_noop("jobs"),
    gettext_noop("linked"),
    gettext_noop("merged"),
    gettext_noop("moments"),
    gettext_noop("namenodes"),
    gettext_noop("not reached"),
    gettext_noop("occupied"),
    gettext_noop("parts"),
    gettext_noop("purged"),
    gettext_noop("quarantined"),
    gettext_noop("records"),
    gettext_noop("referred"),
    gettext_noop("removed"),
    gettext_noop("requests"),
    gettext_noop("restarted"),
    gettext_noop("restored"),
    gettext_noop("resumed"),
    gettext_noop("rows"),
    gettext_noop("silent"),
    gettext_noop("skips"),
    gettext_noop("to"),
    gettext_noop("unreachable"),
)

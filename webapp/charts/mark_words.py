"""Kinds of marks on time lines as pages show them (codes of
:data:`webapp.charts.annotations.LOOK`), which they translate.
"""

from django.utils.translation import gettext_noop

WORDS = (
    gettext_noop("attempt"),
    gettext_noop("deploy"),
    gettext_noop("failure"),
    gettext_noop("operator"),
    gettext_noop("restart"),
    gettext_noop("restore"),
    gettext_noop("savepoint"),
    gettext_noop("taskmanager lost"),
    gettext_noop("terminal"),
)

"""Marks a text that is declared once, in code, and shown in the language of whoever asks.

Django's own, typed as what it is used as. It is no ``str`` all the same: ``str()`` it where texts
are joined, compared or kept.
"""

from typing import cast

from django.utils import translation


def gettext_lazy(message: str) -> str:
    return cast(str, translation.gettext_lazy(message))


def ngettext_noop(singular: str, plural: str) -> tuple[str, str]:
    """Marks both forms of a text that is counted later, by ``ngettext(*forms, count)``."""
    return singular, plural

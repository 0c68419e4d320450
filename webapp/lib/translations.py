"""Marks of texts for translation. ``gettext_lazy`` is typed as ``str``, but is none: use ``str()``
to join, compare or store it.
"""

from typing import cast

from django.utils import translation


def gettext_lazy(message: str) -> str:
    return cast(str, translation.gettext_lazy(message))


def marked(*texts: str) -> tuple[str, ...]:
    """For texts that are looked up later, such as words of codes."""
    return texts


def ngettext_noop(singular: str, plural: str) -> tuple[str, str]:
    """For a later ``ngettext(*forms, count)``."""
    return singular, plural

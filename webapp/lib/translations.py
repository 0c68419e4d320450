"""Marks of texts for translation. ``gettext_lazy`` is typed as ``str``, but is none: use ``str()``
to join, compare or store it.
"""

from typing import cast

from django.utils import translation


def gettext_lazy(message: str) -> str:
    return cast(str, translation.gettext_lazy(message))


def marked(*texts: str) -> tuple[str, ...]:
    return texts


def ngettext_noop(singular: str, plural: str) -> tuple[str, str]:
    return singular, plural

"""``{{ finding.title|translated|truncatechars:80 }}``: a message in the reader's language. Every
template has it.

``{{ finding.title }}`` alone is in the reader's language, too; the filter is for cut or joined
texts.
"""

from typing import Any

from django import template

from webapp.lib.messages.rendering import localised
from webapp.lib.messages.units import COUNTED

register = template.Library()


@register.filter
def translated(text: Any) -> Any:
    return localised(text) if isinstance(text, str) else text


@register.filter
def unit(name: str) -> str:
    """'checkpoints' of a threshold, where no number stands before it."""
    return COUNTED[name](2).replace("{count}", "").strip() if name in COUNTED else localised(name)

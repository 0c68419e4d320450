"""``{{ finding.title|translated|truncatechars:80 }}``: a message in the reader's language, before
it is cut or joined. ``{{ finding.title }}`` alone needs no filter.
"""

from typing import Any

from django import template

from webapp.lib.messages.rendering import localised
from webapp.lib.messages.units import COUNTED
from webapp.lib.quantities import count_text

register = template.Library()


@register.filter
def translated(text: Any) -> Any:
    return localised(text) if isinstance(text, str) else text


@register.filter
def unit(name: str) -> str:
    """The unit of a threshold without a number before it: 'checkpoints'."""
    return COUNTED[name](2).replace("{count}", "").strip() if name in COUNTED else localised(name)


@register.filter
def counted_in(count: int | None, unit: str) -> str:
    """1, "files" → '1 file'. ``unit``: one of ``COUNTED``."""
    return COUNTED[unit](1 if count == 1 else 2).replace("{count}", count_text(count))

"""``{% host_link NAME CLUSTER %}``: the name of a host, leading to its page.

Every template has it.
"""

from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from webapp.lib.quantities import UNKNOWN

register = template.Library()
LONGEST_SHOWN = 80


@register.simple_tag
def host_link(name: Any, cluster: str = "", query: str = "") -> SafeString | str:
    """A dash where no host is known. ``query``: what else the address has, as of a time range."""
    if not isinstance(name, str) or not name:
        return UNKNOWN
    asked = "&".join(filter(None, (urlencode({"cluster": cluster}) if cluster else "", query)))
    shown = name if len(name) <= LONGEST_SHOWN else f"{name[: LONGEST_SHOWN - 1]}…"
    return format_html(
        '<a class="host" href="{}{}" title="{}"><bdi>{}</bdi></a>',
        reverse("host", args=(name,)),
        f"?{asked}" if asked else "",
        name,
        shown,
    )

"""``{% host_link NAME CLUSTER %}``, ``{% job_link CLUSTER ID NAME %}`` and ``{% cluster_link NAME %}``:
a name as a link to its page.
"""

from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from webapp.lib.filters import demo_mark
from webapp.lib.quantities import UNKNOWN

register = template.Library()
LONGEST_SHOWN, LONGEST_JOB_SHOWN = 80, 120


@register.simple_tag
def host_link(name: Any, cluster: str = "", query: str = "") -> SafeString | str:
    """A dash if there is no name. ``query``: more parameters, such as a time range."""
    if not isinstance(name, str) or not name:
        return UNKNOWN
    parameters = "&".join(filter(None, (urlencode({"cluster": cluster}) if cluster else "", query)))
    return format_html(
        '<a class="host" href="{}{}" title="{}"><bdi>{}</bdi></a>',
        reverse("host", args=(name,)),
        f"?{parameters}" if parameters else "",
        name,
        Truncator(name).chars(LONGEST_SHOWN),
    )


@register.simple_tag
def job_link(cluster: str, job_id: str, name: str | None, query: str = "") -> SafeString:
    """The id if there is no name."""
    return format_html(
        '<a href="{}{}"><bdi>{}</bdi></a>',
        reverse("job", args=(cluster, job_id)),
        f"?{query}" if query else "",
        Truncator(name or job_id).chars(LONGEST_JOB_SHOWN),
    )


@register.simple_tag
def cluster_link(name: str, query: str = "") -> SafeString | str:
    if not name:
        return UNKNOWN
    address = reverse("cluster", args=(name,))
    return format_html(
        '<a href="{}{}"><bdi>{}</bdi></a>{}',
        address,
        f"?{query}" if query else "",
        name,
        demo_mark(name),
    )

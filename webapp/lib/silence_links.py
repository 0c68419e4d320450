"""``{% silence_url JOB %}``: a link to the silence form for a job, by cluster and name, so that it
holds after the job is submitted again.
"""

from typing import Any

from django import template
from django.urls import reverse
from django.utils.http import urlencode

from webapp.lib.matchers import BadMatcher, Matcher, as_lines, matcher

register = template.Library()


def silence_address(
    cluster: str, job_name: str | None, job_id: str, rule: str = "", subject: str = ""
) -> str:
    """The address of a silence of exactly this. If a form cannot hold the name, the job's id is
    used: a silence is never wider than requested.
    """
    name = _exactly("job", job_name or "")
    of_job = name or _exactly("job_id", job_id)
    wanted = (
        _exactly("cluster", cluster),
        of_job,
        _exactly("rule", rule),
        _exactly("subject", subject),
    )
    return f"{reverse('silence-new')}?{urlencode({'matchers': as_lines(filter(None, wanted))})}"


@register.simple_tag
def silence_url(row: Any, job_name: str | None = "") -> str:
    """``row``: a job, or a finding or an alert of one, which is then silenced for its rule alone."""
    name = getattr(row, "job_name", None) or job_name
    return silence_address(row.cluster, name, row.job_id, getattr(row, "rule", ""))


def _exactly(label: str, value: str) -> Matcher | None:
    """``None`` for what is empty, or what a form cannot hold: names come from users' jobs."""
    try:
        return matcher(label, "=", value) if len(value.splitlines()) == 1 else None
    except BadMatcher:
        return None

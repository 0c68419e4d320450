"""``{% silence_url JOB %}``: the form for a silence of a job, by cluster and name: it holds when
the job is submitted again.
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
    """Of exactly this.

    Where a name has what no form can hold, the job's id stands for it: a silence is never wider
    than asked for.
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

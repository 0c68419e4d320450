"""``{% silence_url JOB %}``: the URL of a form that silences a job by cluster and name: the silence
still matches after the job is submitted again.
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
    """If a form cannot hold the name, the job's id is used: the silence is never wider than
    requested.
    """
    matchers = (
        _exact_matcher("cluster", cluster),
        _exact_matcher("job", job_name or "") or _exact_matcher("job_id", job_id),
        _exact_matcher("rule", rule),
        _exact_matcher("subject", subject),
    )
    return f"{reverse('silence-new')}?{urlencode({'matchers': as_lines(filter(None, matchers))})}"


@register.simple_tag
def silence_url(row: Any, job_name: str | None = "") -> str:
    """``row``: a job, or a finding or alert, which is only silenced for its rule."""
    name = getattr(row, "job_name", None) or job_name
    return silence_address(row.cluster, name, row.job_id, getattr(row, "rule", ""))


def _exact_matcher(label: str, value: str) -> Matcher | None:
    """None if ``value`` is empty or a form cannot hold it: names come from users' jobs."""
    try:
        return matcher(label, "=", value) if len(value.splitlines()) == 1 else None
    except BadMatcher:
        return None

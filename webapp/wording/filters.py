"""``{{ finding.title|translated:finding }}``: a stored English text in the reader's language. Every template has it."""

from collections.abc import Iterator
from typing import Any

from django import template

from ingest.messages import brief
from webapp.wording.translation import translated as translated_text
from webapp.wording.translation import unit_text

register = template.Library()
_MOST_NAMES = 200


@register.filter
def translated(text: Any, of: Any = None) -> Any:
    """``of``: the finding, or whatever has names as one has; or one name. Other values than texts stay as they are."""
    if not isinstance(text, str):
        return text
    names = names_of(of)
    return text if text in names else translated_text(text, names)


@register.filter
def unit(text: str) -> str:
    """'checkpoints' of a threshold, where no number stands before it."""
    return unit_text(text)


def names_of(of: Any) -> set[str]:
    """Names of jobs, vertices, hosts and files that a finding's texts may hold, long ones as these cut them, too."""
    if of is None or isinstance(of, str):
        return {of} if of else set()
    named = (_loaded(of, field) for field in ("subject", "job_name", "cluster", "name"))
    found = {one for one in named if isinstance(one, str)}
    for related in _loaded(of, "related") or ():
        found.update(_texts(related.get("subject") if isinstance(related, dict) else None))
        found.update(_texts(related.get("path") if isinstance(related, dict) else None))
    found.update(_named(_loaded(of, "data")))
    known = sorted(found)[:_MOST_NAMES]
    return {*known, *map(brief, known)}


def _loaded(of: Any, field: str) -> Any:
    """Not asked of the database where a page left it out."""
    return vars(of).get(field) if hasattr(of, "__dict__") else getattr(of, field, None)


def _named(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            if isinstance(value, str) and key in ("name", "vertex", "vertex_name", "host", "task", "job_name", "root"):
                yield value
            elif not isinstance(value, str):
                yield from _named(value)
    elif isinstance(data, list | tuple):
        for one in data[:_MOST_NAMES]:
            yield from _named(one)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        yield from (one for one in value if isinstance(one, str))

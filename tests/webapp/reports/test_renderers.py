"""What the document holds of a job is drawn: in the page, and in Markdown but for what is left out
there to be short.
"""

from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from tests.webapp.builders import T0, job
from tests.webapp.reports.stories import seen, told
from webapp.reports.document import JobStory
from webapp.reports.renderers import html, markdown

pytestmark = pytest.mark.django_db

SENTINELS: dict[type, Any] = {
    str: "sentinel",
    int: 7_919,
    float: 0.7919,
    datetime: T0 - timedelta(minutes=5),
    bool: True,
}
OTHERS: dict[type, Any] = {
    str: "another",
    int: 104_729,
    float: 0.1047,
    datetime: T0 - timedelta(minutes=12),
    bool: False,
}
NAMED = {
    "outcome": {str: "completed"},
    "numeric": {int: 0},
    "kind": {str: "restart"},
    "downtime_ms": {float: None},
    "end_to_end_ms": {float: None},
}
"""Parts that are drawn, or beside which another is, only where they have such a value."""
HINTS = get_type_hints(JobStory)


def made(hint: Any, values: dict[type, Any]) -> Any:
    """A value of the type with nothing left out; tuples of any length have one."""
    if get_origin(hint) is UnionType:
        hint = next(one for one in get_args(hint) if one is not NoneType)
    if get_origin(hint) is tuple:
        return tuple(made(one, values) for one in get_args(hint) if one is not Ellipsis)
    if is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        return hint(
            **{
                one.name: made(
                    hints[one.name],
                    values if values is OTHERS else values | NAMED.get(one.name, {}),
                )
                for one in fields(hint)
            }
        )
    return values[hint]


SCALARS = {
    name: SENTINELS[kind]
    for name, hint in HINTS.items()
    for kind in {*(get_args(hint) or (hint,))} - {NoneType}
    if kind in SENTINELS
}
TUPLES = {name: hint for name, hint in HINTS.items() if get_origin(hint) is tuple}
ELSEWHERE = {"first_attempt_id", "judged_at"}
"""What is not judged is told by the first screen and under what is not known; attempts are counted
as one job there."""
NOT_IN_MARKDOWN = ELSEWHERE | {"is_recording", "parallelism", "restored_from", "uploaded_bytes"}


def variants(name: str) -> dict[str, Any]:
    """``field.part`` → the story's tuple of two entries, one of which has this part different."""
    (usual,), (other,) = made(TUPLES[name], SENTINELS), made(TUPLES[name], OTHERS)
    if not is_dataclass(usual):
        return {
            f"{name}.{at}": ((*usual[:at], other[at], *usual[at + 1 :]), usual)
            for at in range(len(usual))
        }
    return {
        f"{name}.{part.name}": (replace(usual, **{part.name: getattr(other, part.name)}), usual)
        for part in fields(usual)
    }


@pytest.mark.parametrize(
    ("render", "left_out"),
    [(html.render, ELSEWHERE), (markdown.render, NOT_IN_MARKDOWN)],
    ids=["page", "Markdown"],
)
def test_every_plain_field_of_a_job_is_drawn_or_named_as_left_out(render, left_out):
    seen()
    document = told(job(at=T0, restored_at=None))
    [story] = document.stories
    usual = render(document)
    drawn = {
        name
        for name, value in SCALARS.items()
        if render(replace(document, stories=(replace(story, **{name: value}),))) != usual
    }
    assert SCALARS.keys() - drawn == left_out, (
        "draw it in templates/reports/_jobs.html and renderers/markdown_job.py, or name it here"
    )


NOT_DRAWN = {"outages.until", "tables.empty"}
"""When an outage was over tells the time line; a table of a job that is empty is not there."""
IN_CHARTS = {
    f"{name}.{part.name}"
    for name in ("points", "marks", "pressure")
    for part in fields(get_args(TUPLES[name])[0])
}
DETAILS = {
    *(
        "exceptions.host",
        "exceptions.stacktrace",
        "logs.kind",
        "logs.source",
        "logs.where",
        "missing_files.operators",
    ),
    *(
        "outages.restored_id",
        "storage.as_of",
        "storage.files",
        "storage.live_bytes",
        "storage.retained_waste_bytes",
        "tables.numeric",
    ),
}
NOT_IN_SHORT = NOT_DRAWN | IN_CHARTS | DETAILS
"""Of what charts draw Markdown has nothing."""


@pytest.mark.parametrize(
    ("render", "left_out"),
    [(html.render, NOT_DRAWN), (markdown.render, NOT_IN_SHORT)],
    ids=["page", "Markdown"],
)
def test_every_part_of_what_a_job_has_several_of_is_drawn_or_named_as_left_out(render, left_out):
    seen()
    document = told(job(at=T0, restored_at=None))
    whole = replace(
        document.stories[0], **{name: made(hint, SENTINELS) * 2 for name, hint in TUPLES.items()}
    )
    usual = render(replace(document, stories=(whole,)))
    parts = {part: value for name in TUPLES for part, value in variants(name).items()}
    drawn = {
        part
        for part, value in parts.items()
        if render(replace(document, stories=(replace(whole, **{part.split(".")[0]: value}),)))
        != usual
    }
    assert parts.keys() - drawn == left_out, (
        "draw it in templates/reports/_jobs.html and renderers/markdown_job.py, or name it here"
    )

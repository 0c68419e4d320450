"""What the document holds of a job is drawn: in the page, and in Markdown but for what is left out there to be short."""

from dataclasses import replace
from datetime import datetime, timedelta
from types import NoneType
from typing import Any, get_args, get_type_hints

import pytest

from tests.webapp.builders import T0, job
from tests.webapp.reports.stories import seen, told
from webapp.reports.document import JobStory
from webapp.reports.renderers import html, markdown

pytestmark = pytest.mark.django_db

SENTINELS: dict[type, Any] = {str: "sentinel", int: 7_919, datetime: T0 + timedelta(days=5), bool: True}
SCALARS = {
    name: SENTINELS[kind]
    for name, hint in get_type_hints(JobStory).items()
    for kind in {*(get_args(hint) or (hint,))} - {NoneType}
    if kind in SENTINELS
}
ELSEWHERE = {"judged_at"}
"""What is not judged is told by the first screen and under what is not known."""
NOT_IN_MARKDOWN = ELSEWHERE | {"is_recording", "parallelism", "restored_from", "uploaded_bytes"}


@pytest.mark.parametrize(("render", "left_out"), [(html.render, ELSEWHERE), (markdown.render, NOT_IN_MARKDOWN)], ids=["page", "Markdown"])
def test_every_plain_field_of_a_job_is_drawn_or_named_as_left_out(render, left_out):
    seen()
    document = told(job(at=T0, restored_at=None))
    [story] = document.stories
    usual = render(document)
    drawn = {name for name, value in SCALARS.items() if render(replace(document, stories=(replace(story, **{name: value}),))) != usual}
    assert SCALARS.keys() - drawn == left_out, "draw it in templates/reports/_jobs.html and renderers/markdown.py, or name it here"

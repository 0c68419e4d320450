"""Messages: what is said where no web framework is known, stored as template and values, shown to
each reader in their language.
"""

import json
import pickle
import re
from datetime import UTC, datetime

import pytest
from django.template import Context, Template
from django.utils import translation

from ingest.messages import (
    KINDS,
    Message,
    as_message,
    join_messages,
    list_text,
    message,
    ms_text,
    placeholders,
    plural,
    quoted,
    to_plain,
)
from ingest.redaction.texts import redact
from webapp.incidents.models import Incident
from webapp.lib.messages.rendering import localised
from webapp.site.translations.areas import areas

EXAMPLES = {
    "count": 1234,
    "number": 12,
    "decimal1": 2.5,
    "decimal2": 0.25,
    "duration": 4000,
    "bytes": 78_200_000,
    "share": 0.31,
    "name": "orders-enrich",
    "names": ["a", "b", "c"],
    "text": "it",
    "opening": "it",
    "message": message("the slowest task"),
}


@pytest.fixture(scope="module")
def templates() -> list[tuple[str, str]]:
    """Each with its plural."""
    marked = (one for area in areas() for one in area.messages())
    return sorted({(one.text, one.plural) for one in marked if re.search(r"\{\w+:\w+\}", one.text)})


def test_every_kind_of_placeholder_has_an_example() -> None:
    assert EXAMPLES.keys() == KINDS


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_template_is_rendered_whole_in_both_languages(
    templates: list[tuple[str, str]], language: str
) -> None:
    assert len(templates) > 750
    wrong = []
    with translation.override(language):
        for template, many in templates:
            values = {name: EXAMPLES[kind] for name, kind in placeholders(template).items()}
            shown = localised(Message(template, values, many))
            lost = [
                value
                for value in values.values()
                if isinstance(value, str) and localised(value).casefold() not in shown.casefold()
            ]
            if lost or re.search(r"\{\w*(:\w+)?\}", shown):
                wrong.append((template, shown))
    assert wrong == []


def test_a_message_is_its_english_text_and_says_itself_in_chinese() -> None:
    said = message("Looked at least every {every_ms:duration}.", every_ms=4000)
    assert said == "Looked at least every 4 s." and isinstance(said, str)
    with translation.override("zh-hans"):
        found = localised(plural(3, "{count:count} checkpoint", "{count:count} checkpoints"))
    assert found != "3 checkpoints" and "3" in found


def test_a_value_that_does_not_fit_fails_where_the_message_is_made() -> None:
    with pytest.raises(TypeError, match="took is to be a duration"):
        message("{took:duration} in all", took="4 s")
    with pytest.raises(TypeError, match="cause is to be a message"):
        message("{cause:message}.", cause="plain text")
    with pytest.raises(ValueError, match="has values for"):
        message("{took:duration} in all", taken=4)
    with pytest.raises(ValueError, match="unknown kinds"):
        message("{took:seconds} in all", took=4)


def test_messages_survive_storage_pickling_exceptions_and_sums() -> None:
    inner = plural(2, "{count:count} file", "{count:count} files")
    said = (
        message("{files:message} of {name:name}", files=inner, name="orders") + " " + ms_text(1500)
    )
    again = json.loads(json.dumps(to_plain(said)), object_hook=as_message)
    for one in (again, pickle.loads(pickle.dumps(said)), str(ValueError(said)), f"{said}"):
        assert isinstance(one, Message)
        assert (one, one.template, one.values) == (said, said.template, said.values)
    assert said == "2 files of orders 1.5 s"


@pytest.mark.parametrize(
    "document",
    [
        {"template": "{a:count} x", "values": {}},
        {"template": "{a:count} x", "values": {"a": "many"}},
        {"template": 5, "values": {}},
        {"template": "x", "values": 5},
        {"template": "{a:nothing}", "values": {"a": 1}},
        {"template": "x", "values": {}, "more": 1},
    ],
)
def test_what_is_no_message_stays_what_it_is(document: dict[str, object]) -> None:
    assert as_message(dict(document)) == document


def test_the_form_follows_what_is_counted_whatever_the_values_are() -> None:
    for number, said in ((1, "1 call/s for 2 jobs"), (2, "2 calls/s for 2 jobs")):
        made = plural(
            number,
            "{per_s:name} call/s for {jobs:count} jobs",
            "{per_s:name} calls/s for {jobs:count} jobs",
            jobs=2,
            per_s=str(number),
        )
        assert made == said
        assert as_message(to_plain(made)) == pickle.loads(pickle.dumps(made)) == said


def test_secrets_in_values_are_hidden_and_templates_stay() -> None:
    said = message(
        "Password {user:name}: {error:text}",
        user="root",
        error="password=hunter22secret at http://root:pw1234@host/",
    )
    hidden = redact(said)
    assert isinstance(hidden, Message) and hidden.template == said.template
    assert "hunter22secret" not in hidden and "pw1234" not in hidden


def test_lists_and_parts_are_joined_in_the_language_of_the_reader() -> None:
    assert list_text(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
    assert list_text([]) == "" and list_text(["a", "b"]) == "a and b"
    assert join_messages(["", message("x"), "y"], ", ") == "x, y"
    with translation.override("zh-hans"):
        assert "and" not in localised(list_text(["a", "b", "c", "d", "e"]))


def test_pages_show_messages_in_their_language_and_escape_names() -> None:
    said = message("{vertex:name}/{subtask:number}", vertex="<b>map</b>", subtask=3)
    with translation.override("zh-hans"):
        assert Template("{{ said }}").render(Context({"said": said})) == "&lt;b&gt;map&lt;/b&gt;/3"
        counted = plural(2, "{count:count} checkpoint", "{count:count} checkpoints")
        assert Template("{{ said }}").render(Context({"said": counted})) == localised(counted)


@pytest.mark.django_db
def test_a_row_keeps_template_and_values_and_plain_text_is_a_quote() -> None:
    at = datetime(2026, 11, 24, tzinfo=UTC)
    said = message("{files:count} files", files=1200)
    for title in (said, "what Flink says"):
        Incident.objects.create(
            rule="r",
            title=title,
            severity="info",
            severity_rank=1,
            began_at=at,
            last_seen=at,
            created_at=at,
        )
    first, second = Incident.objects.order_by("pk")
    assert (first.title, first.title.template, first.title.values) == (
        "1,200 files",
        "{files:count} files",
        {"files": 1200},
    )
    assert second.title == "what Flink says" and second.title.template == quoted("x").template

"""The list of all sentences: it finds those of templates and of code, and none has words that are
no terms of the field.
"""

from pathlib import Path

import pytest
from django.core.management import call_command, load_command_class

from ingest.lake.tables import TABLES
from webapp.delivery.formats import weir
from webapp.delivery.models import Delivery
from webapp.lib.sentences import (
    Sentence,
    sentences,
    sentences_in_code,
    sentences_in_script,
    sentences_in_settings,
    sentences_in_template,
)


def texts(found) -> list[str]:
    return [one.text for one in found]


def test_texts_between_tags_and_of_attributes_are_sentences_and_logic_is_not() -> None:
    page = """{% if job.state == "not a sentence" %}<p title="Shown when pointed at">{{ job.name }} has <b>stopped</b>.</p>{% endif %}
<script>const no = "words of a script here";</script>"""
    assert texts(sentences_in_template(Path("p.html"), page)) == ["Shown when pointed at"]
    assert texts(sentences_in_template(Path("p.html"), "<p>{{ job.name }} has stopped.</p>")) == [
        "… has stopped."
    ]


def test_strings_of_code_are_sentences_and_docstrings_are_not() -> None:
    code = (
        '"""A docstring of a module."""\nword = "one_word"\nsaid = f"Job {name} has '
        'stopped."\nplain = "Nothing was found here."\n'
    )
    assert texts(sentences_in_code(Path("p.py"), code)) == [
        "Job … has stopped.",
        "Nothing was found here.",
    ]


def test_the_line_is_that_of_the_file() -> None:
    (one,) = sentences_in_template(Path("p.html"), "<div>\n<p>\nAll is well here.</p></div>")
    assert one.line == 3


@pytest.fixture(scope="module")
def listed() -> tuple[Sentence, ...]:
    return tuple(sentences())


def test_sentences_that_everybody_knows_are_listed(listed: tuple[Sentence, ...]) -> None:
    known = set(texts(listed))
    assert "No cluster yet" in known
    assert "Skipped: it was not there any more." in known
    assert "# Cleaning up" in known


def test_no_sentence_has_words_that_are_no_terms(listed: tuple[Sentence, ...]) -> None:
    """Of pages and scripts, findings and messages, the help of commands and settings, what fields
    are described by, and the documentation.
    """
    assert {"templates", "static", "ingest", "spark_jobs", "webapp", "compose.env.example"} == {
        one.path.partition("/")[0] for one in listed
    }
    assert [f"{one.path}:{one.line}: {one.text}" for one in listed if one.no_terms] == []


def test_descriptions_of_tables_fields_commands_and_notices_are_listed(
    listed: tuple[Sentence, ...],
) -> None:
    """What argparse, Django and the contracts print of themselves, asked of them and not of their
    sources.
    """
    known = texts(listed)
    described = [
        next(iter(TABLES.values())).columns[0].meaning,
        str(Delivery._meta.get_field("ended_at").help_text),
        load_command_class("webapp.cleanup", "apply_cleanup").help.split(". ")[0],
        weir.SCHEMA["properties"]["timestamp"]["description"],
    ]
    for text in described:
        assert text
        assert any(text in one for one in known), text


def test_strings_of_scripts_and_comments_of_settings_are_sentences() -> None:
    script = (
        'say("the server cannot be reached"); // not this one here\nconst text = `since ${at} '
        'UTC: paused`;\nconst id = "main";\n'
    )
    assert texts(sentences_in_script(Path("p.js"), script)) == [
        "the server cannot be reached",
        "since … UTC: paused",
    ]
    assert texts(
        sentences_in_settings(Path("p"), "# What a setting is for.\nNAME=a value of words\n")
    ) == ["What a setting is for."]


def test_the_command_prints_where_each_stands(capsys) -> None:
    call_command("sentences")
    assert any(
        line.startswith("templates/fleet/fleet.html:")
        for line in capsys.readouterr().out.splitlines()
    )

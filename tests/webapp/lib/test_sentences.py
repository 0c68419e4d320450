"""The list of all sentences: it finds those of templates and of code, and pages hold none with words that are no terms of the field."""

from pathlib import Path

from django.core.management import call_command

from webapp.lib.sentences import TEMPLATES, of_code, of_template, sentences


def texts(found) -> list[str]:
    return [one.text for one in found]


def test_texts_between_tags_and_of_attributes_are_sentences_and_logic_is_not() -> None:
    page = """{% if job.state == "not a sentence" %}<p title="Shown when pointed at">{{ job.name }} has <b>stopped</b>.</p>{% endif %}
<script>const no = "words of a script here";</script>"""
    assert texts(of_template(Path("p.html"), page)) == ["Shown when pointed at"]
    assert texts(of_template(Path("p.html"), "<p>{{ job.name }} has stopped.</p>")) == ["… has stopped."]


def test_strings_of_code_are_sentences_and_docstrings_are_not() -> None:
    code = '"""A docstring of a module."""\nword = "one_word"\nsaid = f"Job {name} has stopped."\nplain = "Nothing was found here."\n'
    assert texts(of_code(Path("p.py"), code)) == ["Job … has stopped.", "Nothing was found here."]


def test_the_line_is_that_of_the_file() -> None:
    (one,) = of_template(Path("p.html"), "<div>\n<p>\nAll is well here.</p></div>")
    assert one.line == 3


def test_sentences_that_everybody_knows_are_listed() -> None:
    known = set(texts(sentences()))
    assert "No cluster yet" in known
    assert "Skipped: it was not there any more." in known


def test_no_page_has_a_sentence_with_words_that_are_no_terms() -> None:
    assert [f"{one.path}:{one.line}: {one.text}" for one in sentences() if one.no_terms and one.path.startswith(TEMPLATES)] == []


def test_the_command_prints_where_each_stands(capsys) -> None:
    call_command("sentences")
    assert any(line.startswith("templates/fleet/fleet.html:") for line in capsys.readouterr().out.splitlines())

"""The catalogues hold what is marked, translated, compiled, and each text in one way; what is wrong
with one is said.
"""

import re
from pathlib import Path

import pytest

from webapp.config.environment import PROJECT_DIR
from webapp.lib.page_words import WORDS
from webapp.site.translations.areas import areas
from webapp.site.translations.checks import fault_of
from webapp.site.translations.complaints import complaints
from webapp.site.translations.extraction import (
    Message,
    NoPlainText,
    messages_in_code,
    messages_in_template,
)


def test_every_marked_text_is_translated_compiled_and_in_one_way() -> None:
    assert list(complaints(areas())) == []


@pytest.mark.parametrize(
    ("english", "plural", "chinese", "about"),
    [
        ("Sign in with %(name)s", "", "登录", "placeholders"),
        ("Sign in with %(name)s", "", "用 %(nane)s 登录", "placeholders"),
        ("{value} of {limit}", "", "{value}", "placeholders"),
        ("80 %% full", "", "满", "placeholders"),
        ("<b>late</b> by far", "", "<b>滞后</i>", "tags"),
        ('<a href="%(url)s">more</a>', "", '<a href="/">%(url)s</a>', "tags"),
        ("%(n)s job", "%(n)s jobs", "作业", "placeholders"),
        ("one\n", "", "一", "line break"),
        ("late", "", "", "not translated"),
    ],
)
def test_what_a_translation_lost_is_named(
    english: str, plural: str, chinese: str, about: str
) -> None:
    assert about in fault_of(english, plural, chinese)


@pytest.mark.parametrize(
    ("english", "plural", "chinese"),
    [
        ("Sign in with %(name)s", "", "用 %(name)s 登录"),
        ("one job", "%(n)s jobs", "%(n)s 个作业"),
        ('<span title="of all">%(n)s</span>', "", '<span title="总数">%(n)s</span>'),
    ],
)
def test_a_right_translation_is_not_complained_about(
    english: str, plural: str, chinese: str
) -> None:
    assert fault_of(english, plural, chinese) == ""


def test_templates_are_read_as_django_reads_them() -> None:
    source = """{% translate "80 % full" %}{% blocktranslate trimmed with a=b.c count n=n %}
      {{ n }} job of {{ a }}
      {% plural %}{{ n }} jobs of {{ a }}{% endblocktranslate %}{% include "_brand.html" with title=_("Find") %}"""
    found = [(message.text, message.plural) for message in messages_in_template("t.html", source)]
    assert found == [
        ("80 %% full", ""),
        ("%(n)s job of %(a)s", "%(n)s jobs of %(a)s"),
        ("Find", ""),
    ]


def test_code_is_read_without_being_run() -> None:
    source = (
        '_("a" "b")\nngettext("%(n)s row", "%(n)s rows", n)\npgettext("state", '
        '"open")\ngettext(found)\n'
    )
    found = list(messages_in_code("c.py", source))
    assert found == [
        Message("ab", paths=["c.py"]),
        Message("%(n)s row", "%(n)s rows", "", ["c.py"]),
        Message("open", "", "state", ["c.py"]),
    ]


def test_a_text_that_is_put_together_first_is_refused_with_its_line() -> None:
    with pytest.raises(NoPlainText, match=r"c\.py:2"):
        list(messages_in_code("c.py", '\ngettext(f"{n} rows")'))


def test_scripts_say_nothing_that_the_catalogue_does_not_know() -> None:
    scripts = "".join(Path(path).read_text() for path in (PROJECT_DIR / "static/js").glob("*.js"))
    assert set(re.findall(r'translated\("([^"]*)"', scripts)) == set(WORDS)

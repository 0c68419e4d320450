"""Tags of the parts of pages."""

from types import SimpleNamespace

import pytest
from django.http import QueryDict
from django.template import Context, Engine
from django.utils import translation

from webapp.site.translations.extraction import messages_in_template

HOSTILE = "<script>100 %s</script>"


def rendered(source: str, **values: object) -> str:
    return Engine.get_default().from_string(source).render(Context(values))


def test_a_table_takes_its_caption_from_its_panel() -> None:
    page = rendered(
        '{% panel title note=_("Size") id="x" %}<a></a>{% body %}'
        '{% table %}{% th _("Size") "n" %}{% rows %}<tr></tr>{% endtable %}{% endpanel %}',
        title="Why",
    )
    assert '<section class="panel flush grid" id="x" aria-label="Why">' in page
    assert "<h2>Why <small>Size</small></h2><a></a></div>" in page
    assert (
        '<caption class="visually-hidden">Why</caption><thead><tr><th scope="col" class="n">'
        in (page)
    )
    assert "</tr></thead><tbody><tr></tr></tbody></table></div></section>" in page


@pytest.mark.parametrize(
    "source",
    [
        "{% panel bad note=bad %}{% table bad data_rows=bad %}{% endtable %}{% endpanel %}",
        "{% th bad bad bad %}{% blank bad %}{{ bad }}{% endblank %}",
        '{% text "at %(bad)s" bad=bad %}{{ badge|chip }}',
    ],
)
def test_names_of_users_jobs_are_escaped_in_every_part(source: str) -> None:
    badge = SimpleNamespace(tone=HOSTILE, shape=HOSTILE, word=HOSTILE)
    page = rendered(source, bad=HOSTILE, badge=badge)
    assert "<script>" not in page and "100 %s" in page


def test_a_text_with_values_is_a_message_in_the_language_of_the_reader() -> None:
    source = '{% text "%(number)s expired" number=number %}'
    assert [message.text for message in messages_in_template("x.html", source)] == [
        "%(number)s expired"
    ]
    assert rendered(source, number=3) == "3 expired"
    with translation.override("zh-hans"):
        assert rendered(source, number=3) not in ("3 expired", "")


def test_texts_within_parts_are_found_by_the_translations() -> None:
    inner = "{% blocktranslate %}a {{ b }}{% endblocktranslate %}"
    source = f"{{% panel t %}}{{% table %}}{inner}{{% rows %}}{{% endtable %}}{{% endpanel %}}"
    for one in (source, f"{{% blank t %}}{inner}{{% endblank %}}"):
        assert [message.text for message in messages_in_template("x.html", one)] == ["a %(b)s"]


def test_a_pager_links_only_to_pages_that_there_are() -> None:
    request = SimpleNamespace(GET=QueryDict("q=a"))
    page = SimpleNamespace(previous_cursor="", next_cursor="c")
    first = rendered('{% pager page name="runs" %}', request=request, page=page)
    assert first.count("<a ") == 1 and 'href="?q=a&amp;runs=c#runs"' in first
    counted = rendered("{% pager page %}", request=request, page=page, matching=2)
    assert "2 match" in counted and 'href="?q=a&amp;cursor=c"' in counted

"""The text of a kept page: nothing that is for one answer alone, and nothing that could be sent from it."""

import pytest

from webapp.last_known.page_text import PLACE, as_last_known, to_keep

BANNER = '<div id="last-known"></div>'


def shown(page: str, theme: str = "") -> str:
    return as_last_known(page.encode(), BANNER, theme).decode()


def test_tokens_of_forms_are_not_kept() -> None:
    field = b'<input type="hidden" name="csrfmiddlewaretoken" value="secret">'
    assert to_keep(b'<form method="post">' + field + b"<b>x</b></form>" + field) == b'<form method="post"><b>x</b></form>'


def test_the_banner_stands_once_where_the_state_of_the_data_is_told() -> None:
    page = f"<body>{PLACE.decode()}</div><main>{PLACE.decode()}</main>"
    assert shown(page) == f"<body>{PLACE.decode()}{BANNER}</div><main>{PLACE.decode()}</main>"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '<form method="post"><button type="submit">Go</button></form><button>Menu</button>',
            '<form method="post"><button disabled type="submit">Go</button></form><button>Menu</button>',
        ),
        ("<FORM method=POST><select name='a'></select></FORM>", "<FORM method=POST><select disabled name='a'></select></FORM>"),
        ('<form action="?a>b" method="post"><textarea></textarea>', '<form action="?a>b" method="post"><textarea disabled></textarea>'),
        (
            '<input form="order" name="x"><form id="order" method="post">',
            '<input disabled form="order" name="x"><form id="order" method="post">',
        ),
        ('<button hx-post="/a">Go</button>', '<button disabled hx-post="/a">Go</button>'),
        ('<form method="post"><button form="filters">Go</button></form>', '<form method="post"><button form="filters">Go</button></form>'),
    ],
)
def test_what_writes_is_disabled_wherever_it_stands(before: str, after: str) -> None:
    assert shown(before) == after


@pytest.mark.parametrize(
    "page",
    ['<form method="get" action="/"><input name="q"></form>', '<form class="filters"><select name="a"></select></form>', "<buttons>"],
)
def test_filters_and_searches_stay_as_they_are(page: str) -> None:
    assert shown(page) == page


def test_it_is_in_the_theme_that_is_chosen_now() -> None:
    page = '<html lang="en" data-theme="dark"><head>'
    assert shown(page) == '<html lang="en"><head>'
    assert shown(page, "light") == '<html lang="en" data-theme="light"><head>'

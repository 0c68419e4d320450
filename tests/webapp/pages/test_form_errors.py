"""Every form of every page, sent with nothing and with nonsense: an error is shown once, and read
out with the field that it is of.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import pytest
from django.db import transaction
from django.test import Client

from tests.attacks.inhabited import inhabit
from tests.attacks.places import places
from tests.webapp.builders import person
from webapp.accounts.models import User

Attributes = dict[str, str]
FIELDS = ("input", "select", "textarea")
VOID = ("input", "br", "img", "link", "meta", "hr", "path", "circle", "rect", "line")
NONSENSE = "\N{SNOWMAN}{="
FEWEST_ANSWERS_WITH_ERRORS = 40
"""The walk never becomes a short one unnoticed."""


class Page(HTMLParser):
    """``forms``: attributes and fields of each; ``errors``: the texts of each list of errors, with
    its attributes.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[tuple[Attributes, list[tuple[str, Attributes]]]] = []
        self.fields: list[Attributes] = []
        self.ids: list[str] = []
        self.described: list[str] = []
        self.errors: list[tuple[Attributes, list[str]]] = []
        self._open: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, given: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in given}
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.described += attributes.get("aria-describedby", "").split()
        if tag == "form":
            self.forms.append((attributes, []))
        if tag in FIELDS:
            self.fields.append(attributes)
            if self.forms:
                self.forms[-1][1].append((tag, attributes))
        is_error = "errorlist" in attributes.get("class", "").split()
        if is_error:
            self.errors.append((attributes, []))
        if tag not in VOID:
            self._open.append((tag, is_error))

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            if self._open.pop()[0] == tag:
                return

    def handle_data(self, data: str) -> None:
        if data.strip() and any(is_error for _, is_error in self._open):
            self.errors[-1][1].append(data.strip())


def sent(fields: list[tuple[str, Attributes]], text: str) -> dict[str, str]:
    """Hidden fields as they are; every other with ``text``."""
    named = [
        (attributes, attributes.get("name", ""))
        for _, attributes in fields
        if attributes.get("name")
    ]
    return {
        name: attributes.get("value", "") if attributes.get("type") == "hidden" else text
        for attributes, name in named
    }


def forms(client: Client) -> Iterator[tuple[str, str, list[tuple[str, Attributes]]]]:
    """Method, address and fields of each, once."""
    seen = set()
    for place in places():
        if place.is_api or "sign-" in place.template:
            continue
        address = place.filled(known=True)
        answer = client.get(address, place.asks_for)
        if answer.streaming or answer.status_code != 200 or "html" not in answer["Content-Type"]:
            continue
        for attributes, fields in Page(answer.content.decode()).forms:
            action = urljoin(address, attributes.get("action") or address).split("?")[0]
            kind = (
                re.sub(r"\d+|[a-z]{3}_[a-z2-7]{26}", "N", action),
                tuple(name for _, one in fields if (name := one.get("name"))),
            )
            if kind not in seen and "sign-out" not in action:
                seen.add(kind)
                yield attributes.get("method", "get"), action, fields


def answers(client: Client) -> Iterator[tuple[str, str]]:
    """What each form is answered with: the page itself again.

    What one changes is undone before the next.
    """
    for method, action, fields in list(forms(client)):
        for text in ("", NONSENSE):
            with transaction.atomic():
                told = getattr(client, method)(action, sent(fields, text))
                if (
                    not told.streaming
                    and told.status_code == 200
                    and "html" in told["Content-Type"]
                ):
                    yield f"{method} {action} {text!r}", told.content.decode()
                transaction.set_rollback(True)


def wrong(text: str) -> list[str]:
    page = Page(text)
    twice = [name for name, count in Counter(page.ids).items() if count > 1]
    nowhere = [name for name in page.described if name not in page.ids]
    told = {
        attributes.get("id") or str(place): " ".join(texts)
        for place, (attributes, texts) in enumerate(page.errors)
    }
    shown = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))
    again = [
        error
        for error in set(told.values())
        if shown.count(error) > sum(one.count(error) for one in told.values())
    ]
    again += [
        error
        for error, count in Counter(told[name] for name in told if name.isdigit()).items()
        if count > 1
    ]
    loose = [
        " ".join(texts)
        for attributes, texts in page.errors
        if "nonfield" not in attributes.get("class", "")
        and attributes.get("id")
        and attributes["id"] not in page.described
    ]
    unnamed = [
        field.get("name", "")
        for field in page.fields
        if field.get("aria-invalid") and not field.get("aria-describedby")
    ]
    return [
        *(f"id twice: {name}" for name in twice),
        *(f"described by nothing: {name}" for name in nowhere),
        *(f"said again: {error}" for error in again),
        *(f"of no field: {error}" for error in loose),
        *(f"not described: {name}" for name in unnamed),
    ]


@pytest.mark.django_db
@pytest.mark.long
def test_an_error_is_shown_once_and_read_out_with_its_field(home: Path, weir: object) -> None:
    inhabit(home)
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    read, bad = 0, {}
    for name, text in answers(client):
        read += bool(Page(text).errors)
        if found := wrong(text):
            bad[name] = found
    assert not bad
    assert read >= FEWEST_ANSWERS_WITH_ERRORS


@pytest.mark.django_db
@pytest.mark.parametrize("given", [{}, {"username": "ann", "password": "wrong"}])
def test_a_sign_in_that_is_refused_says_so_at_both_fields(
    client: Client, given: dict[str, str]
) -> None:
    person("ann")
    text = client.post("/sign-in/", given).content.decode()
    assert not wrong(text)
    assert text.count('aria-describedby="sign-in-error"') == 2

"""Pages of the menu and rules by their names; no query."""

from collections.abc import Iterator

from django.urls import reverse

from spark_jobs.diagnosis.registry import all_rules
from webapp.lib import scopes
from webapp.site.menu import MENU
from webapp.site.palette.hits import MOST_OF_GROUP, Group, Hit

MORE_PAGES = (
    ("Rules and their runbooks", "rules"),
    ("Growth of state and storage", "growth"),
    ("File system calls of the fleet", "fleet-filesystem-calls"),
    ("Memory, CPU and slots of the fleet", "fleet-resources"),
    ("Account and API tokens", "account"),
    ("Saved views", "saved-views"),
    ("API documentation", "api-docs"),
)
FOR_ADMINISTRATORS = (("Users and roles", "access-users"), ("Audit log", "access-audit"))
"""Pages that have no entry in the menu."""


def places(text: str, administers: bool) -> Iterator[Group]:
    words = text.lower().split()
    shown = [(entry.title, entry.page) for entry in MENU if not entry.whole_fleet or scopes.current().is_everything]
    more = (*MORE_PAGES, *(FOR_ADMINISTRATORS if administers else ()))
    pages = [Hit(title, reverse(page)) for title, page in (*shown, *more) if _has(title, words)]
    if pages:
        yield Group("Pages", pages[:MOST_OF_GROUP])
    rules = [Hit(one.title, reverse("rule", args=[one.id]), one.id) for one in all_rules().values() if _has(f"{one.id} {one.title}", words)]
    if rules:
        yield Group("Rules", rules[:MOST_OF_GROUP])


def _has(title: str, words: list[str]) -> bool:
    return all(word in title.lower() for word in words)

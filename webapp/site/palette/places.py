"""Pages of the menu and rules by their names; no query."""

from collections.abc import Iterator

from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from spark_jobs.diagnosis.registry import all_rules
from webapp.analyses.registry import all_fleet_analyses
from webapp.lib import scopes
from webapp.lib.messages.rendering import localised
from webapp.site.menu import MENU
from webapp.site.palette.hits import MOST_OF_GROUP, Group, Hit

MORE_PAGES = (
    (gettext_noop("Rules and their runbooks"), "rules"),
    (gettext_noop("Growth of state and storage"), "growth"),
    (gettext_noop("Objectives and error budgets"), "objectives"),
    (gettext_noop("Account and API tokens"), "account"),
    (gettext_noop("Saved views"), "saved-views"),
    (gettext_noop("API documentation"), "api-docs"),
)
FOR_ADMINISTRATORS = (
    (gettext_noop("Users and roles"), "access-users"),
    (gettext_noop("Audit log"), "access-audit"),
)
"""Pages that have no entry in the menu."""


def places(text: str, administers: bool) -> Iterator[Group]:
    """Titles are found in the reader's language and in English."""
    words = text.lower().split()
    shown = [
        (entry.english, entry.page)
        for entry in MENU
        if not entry.whole_fleet or scopes.current().is_everything
    ]
    more = (*MORE_PAGES, *(FOR_ADMINISTRATORS if administers else ()))
    pages = [
        Hit(gettext(title), reverse(page))
        for title, page in (*shown, *more)
        if _has(f"{title} {gettext(title)}", words)
    ]
    for name, analysis in all_fleet_analyses().items():
        known = f"{analysis.title} {analysis.summary}", localised(analysis.title)
        if _has(" ".join((*known, localised(analysis.summary))), words):
            pages.append(Hit(known[1], reverse(f"fleet-{name}")))
    if pages:
        yield Group(gettext("Pages"), pages[:MOST_OF_GROUP])
    rules = [
        Hit(own_title, reverse("rule", args=[rule.id]), rule.id)
        for rule in all_rules().values()
        if _has(f"{rule.id} {rule.title} {(own_title := localised(rule.title))}", words)
    ]
    if rules:
        yield Group(gettext("Rules"), rules[:MOST_OF_GROUP])


def _has(title: str, words: list[str]) -> bool:
    return all(word in title.lower() for word in words)

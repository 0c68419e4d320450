"""Finds pages, rules and settings by their names, without a query."""

from collections.abc import Iterator
from functools import cache

from django.urls import reverse
from django.utils.translation import get_language, gettext, gettext_noop

from spark_jobs.diagnosis.registry import all_rules, all_thresholds
from webapp.analyses.registry import all_analyses
from webapp.fleet.forms import ClusterForm
from webapp.lib import scopes
from webapp.lib.messages.rendering import localised
from webapp.site.documentation.settings import documented
from webapp.site.menu import MENU
from webapp.site.palette.hits import MOST_OF_GROUP, Group, Hit, has_words

MORE_PAGES = (
    (gettext_noop("Rules and their runbooks"), "rules"),
    (gettext_noop("Growth of state and storage"), "growth"),
    (gettext_noop("Objectives and error budgets"), "objectives"),
    (gettext_noop("Account and API tokens"), "account"),
)
PAGES_OF_ALERTS = (
    (gettext_noop("Settings of alerts"), "alert-settings"),
    (gettext_noop("Silences"), "silences"),
)
FOR_WHOLE_FLEET = (
    (gettext_noop("Endpoints of notifications"), "endpoints"),
    (gettext_noop("Deliveries of notifications"), "deliveries"),
    (gettext_noop("Add a cluster"), "cluster-add"),
    (gettext_noop("Add a storage root"), "storage-root-add"),
)
FOR_ADMINISTRATORS = (
    (gettext_noop("Users and roles"), "access-users"),
    (gettext_noop("Audit log"), "access-audit"),
)
"""All the pages above have no entry in the menu."""


def places(text: str, administers: bool) -> Iterator[Group]:
    """Titles match in the reader's language and in English."""
    words = text.split()
    sees_all = scopes.current().is_everything
    in_menu = [(entry.english, entry.page) for entry in MENU if not entry.whole_fleet or sees_all]
    other_pages = (
        *MORE_PAGES,
        *PAGES_OF_ALERTS,
        *(FOR_WHOLE_FLEET if sees_all else ()),
        *(FOR_ADMINISTRATORS if administers else ()),
    )
    pages = [
        Hit(gettext(title), reverse(page))
        for title, page in (*in_menu, *other_pages)
        if has_words(f"{title} {gettext(title)}", words)
    ]
    for name, analysis in all_analyses("fleet").items():
        title, summary = localised(analysis.title), localised(analysis.summary)
        if has_words(f"{analysis.title} {analysis.summary} {title} {summary}", words):
            pages.append(Hit(title, reverse(f"fleet-{name}")))
    if pages:
        yield Group(gettext("Pages"), pages[:MOST_OF_GROUP])
    rules = [
        Hit(own_title, reverse("rule", args=[rule.id]), rule.id)
        for rule in all_rules().values()
        if has_words(f"{rule.id} {rule.title} {(own_title := localised(rule.title))}", words)
    ]
    if rules:
        yield Group(gettext("Rules"), rules[:MOST_OF_GROUP])


def settings(text: str) -> Iterator[Group]:
    """Thresholds of rules, fields of clusters, and environment variables."""
    words = text.split()
    if not any(len(word) > 2 for word in words):
        return
    hits = [
        Hit(key, reverse("rule", args=[key.rpartition(".")[0]]), localised(threshold.reason))
        for threshold in all_thresholds()
        if has_words(key := threshold.key, words)
    ]
    clusters = reverse("clusters")
    hits += [
        Hit(str(field.label), clusters, f"{gettext('field of a cluster')} · {name}")
        for name, field in ClusterForm.base_fields.items()
        if field.label and has_words(f"{name} {field.label}", words)
    ]
    # The documentation is in English.
    guide = f"{reverse('documentation')}reference/settings/"
    is_english = (get_language() or "en").startswith("en")
    hits += [
        Hit(", ".join(names), guide, meaning if is_english else "")
        for names, _default, meaning in _environment()
        if has_words(f"{' '.join(names)} {meaning}", words)
    ]
    if hits:
        yield Group(gettext("Settings"), hits[:MOST_OF_GROUP])


_environment = cache(documented)

"""Saved views of people: which somebody sees, and how they are made, changed and removed.

A view may name clusters, in its filters or its name: a shared one is seen by who sees the same
clusters as its owner, or all of them.
"""

from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext

from webapp.accounts.models import ApiToken, SavedView, User
from webapp.accounts.saved_views.pages import PAGES
from webapp.lib.list_pages import POSITIONS
from webapp.lib.refusals import InputRefused

MOST_VIEWS = 50
"""Of one person."""

LONGEST_NAME, LONGEST_QUERY = 60, 2_000


def seen_by(user: User, token: ApiToken | None = None) -> QuerySet[SavedView]:
    """Their own and those shared with them, by name.

    A token that sees less than its person sees none.
    """
    if token is not None and token.sees is not None:
        return SavedView.objects.none()
    same = (
        Q()
        if user.is_superuser or user.sees is None
        else Q(user__sees=user.sees, user__is_superuser=False)
    )
    shared = Q(is_shared=True, user__is_active=True) & same
    return (
        SavedView.objects.filter(Q(user=user) | shared)
        .select_related("user")
        .order_by("name", "pk")
    )


def own(user: User, pk: int) -> SavedView:
    """Raises ``Http404``, also of another's that is shared: only its owner changes it."""
    return get_object_or_404(SavedView.objects.select_related("user"), pk=pk, user=user)


def save(user: User, page: str, name: str, query: str, *, is_shared: bool) -> SavedView:
    """The view of that page and name, which is replaced where there is one.

    Raises :class:`InputRefused`.
    """
    wrong = {}
    if page not in PAGES:
        wrong["page"] = gettext("Give one of %(values)s.") % {"values": ", ".join(PAGES)}
    name = _name(name, wrong)
    kept = _query(query, wrong)
    mine = SavedView.objects.filter(user=user)
    if not wrong and mine.exclude(page=page, name=name).count() >= MOST_VIEWS:
        wrong["name"] = gettext("You have %(most)s saved views; remove one first.") % {
            "most": MOST_VIEWS
        }
    if wrong:
        raise InputRefused(wrong)
    row, _ = SavedView.objects.update_or_create(
        user=user, page=page, name=name, defaults={"query": kept, "is_shared": is_shared}
    )
    return row


def change(view: SavedView, name: str, *, is_shared: bool) -> None:
    """Another name, or another word on who sees it. Raises :class:`InputRefused`."""
    wrong: dict[str, str] = {}
    name = _name(name, wrong)
    if (
        not wrong
        and SavedView.objects.filter(user=view.user, page=view.page, name=name)
        .exclude(pk=view.pk)
        .exists()
    ):
        wrong["name"] = gettext("You have a view called %(name)s of this page already.") % {
            "name": name
        }
    if wrong:
        raise InputRefused(wrong)
    view.name, view.is_shared = name, is_shared
    view.save(update_fields=["name", "is_shared", "changed_at"])


def _name(given: str, wrong: dict[str, str]) -> str:
    name = " ".join(given.split())
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        wrong["name"] = gettext("Give a name of at most %(longest)s characters.") % {
            "longest": LONGEST_NAME
        }
    return name


def _query(given: str, wrong: dict[str, str]) -> str:
    """Without the place in the list, which other rows have by tomorrow, and without what is
    empty.
    """
    text = given.strip().removeprefix("?")
    if len(text) <= LONGEST_QUERY and "\x00" not in text and "%00" not in text:
        asked = QueryDict(text, mutable=True)
        kept = QueryDict(mutable=True)
        for name, values in asked.lists():
            if name not in POSITIONS and any(values):
                kept.setlist(name, [value for value in values if value])
        if len(encoded := kept.urlencode()) <= LONGEST_QUERY:
            return encoded
    wrong["query"] = gettext(
        "What is asked for is too long to be saved: at most %(longest)s characters."
    ) % {"longest": LONGEST_QUERY}
    return ""

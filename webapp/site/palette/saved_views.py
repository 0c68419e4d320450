"""Saved views by their names, of all pages."""

from collections.abc import Iterator
from functools import reduce
from operator import and_

from django.db.models import Q
from django.utils.translation import gettext

from webapp.accounts.models import User
from webapp.accounts.saved_views.pages import PAGES
from webapp.accounts.saved_views.rows import LONGEST_NAME, seen_by
from webapp.site.palette.hits import MOST_OF_GROUP, Group, Hit


def saved_views(text: str, user: User) -> Iterator[Group]:
    """One query."""
    if not text or len(text) > LONGEST_NAME:
        return
    named = seen_by(user).filter(reduce(and_, (Q(name__icontains=word) for word in text.split())))
    if views := list(named[:MOST_OF_GROUP]):
        yield Group(
            gettext("Saved views"),
            [
                Hit(
                    saved_view.name,
                    saved_view.address,
                    str(PAGES.get(saved_view.page, saved_view.page)),
                )
                for saved_view in views
            ],
        )

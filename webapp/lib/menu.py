"""Entries of the menu: features declare their own, ``webapp/site/menu.py`` puts them in order."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext


@dataclass(frozen=True)
class MenuEntry:
    """``page``: its URL name. ``of``: words in the names of other URLs that belong to the entry.
    ``count``: number of open items, which ``counts`` names. ``keeps_range``: the link keeps the
    time range. ``whole_fleet``: only for readers of all clusters.
    """

    english: str
    page: str
    of: tuple[str, ...]
    count: Callable[[], int] | None = None
    counts: str = ""
    keeps_range: bool = False
    whole_fleet: bool = False

    @property
    def title(self) -> str:
        return gettext(self.english)

    @property
    def count_title(self) -> str:
        return gettext(self.counts) if self.counts else ""

    def holds(self, page: str) -> bool:
        return page == self.page or any(word in page for word in self.of)

"""An entry of the menu that every page has: a feature declares its own, ``webapp/site/menu.py``
puts them in order.
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext


@dataclass(frozen=True)
class MenuEntry:
    """``page``: name of its address. ``of``: words in the
    names of the addresses that belong to it. ``count``: how much waits for somebody there,
    ``counts`` what that is. ``keeps_range``: its page has the time range of this one.
    ``whole_fleet``: it is only for who sees every cluster.
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

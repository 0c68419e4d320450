"""Which releases of Flink have a bug. A fix is in all later releases of its branch, and in all
branches after the newest with it. A vendor's release (``1.17.1-stream1``) or a snapshot may have
more fixes than the release it is named after: it never counts as affected.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ingest.flink_rest.versions import named_release
from ingest.messages import Message, join_messages, list_text, message

Affected = Literal["yes", "no", "unknown"]
Numbers = tuple[int, ...]


NEWEST_EXAMINED: Mapping[Numbers, int] = {
    (1, 11): 6,
    (1, 12): 7,
    (1, 13): 6,
    (1, 14): 6,
    (1, 15): 4,
    (1, 16): 3,
    (1, 17): 2,
    (1, 18): 1,
    (1, 19): 3,
    (1, 20): 5,
    (2, 0): 2,
    (2, 1): 3,
    (2, 2): 1,
    (2, 3): 0,
}
"""Branch → last patch that was examined. Later ones are unknown, unless an earlier one has the fix.
"""


@dataclass(frozen=True)
class Releases:
    """``since``: the first release with the bug in each branch that got it in a patch; the last one
    stands for all later branches. ``fixed``: likewise for the fix, empty without one.
    ``is_introduced``: earlier releases are known to be free of the bug.
    """

    since: tuple[str, ...]
    fixed: tuple[str, ...] = ()
    is_introduced: bool = False

    @lru_cache(maxsize=10_000)  # noqa: B019  # the table lives as long as the process
    def affect(self, flink_version: str | None) -> Affected:
        """For ``1.13``: known only if all patches or none have the bug."""
        name = named_release(flink_version)
        if name is None:
            return "unknown"
        release, suffix = name
        if suffix:
            return "no" if self._is_past(release[:2]) else "unknown"
        if len(release) == 2:
            patches = range(NEWEST_EXAMINED.get(release, 0) + 1)
            answers = {self._affect((*release, patch)) for patch in patches}
            return answers.pop() if len(answers) == 1 else "unknown"
        return self._affect(release)

    @property
    def text(self) -> Message:
        """For people: ``since 1.11.0, fixed in 1.13.3 and 1.14.0``."""
        since = message("since {releases:message}", releases=_join_releases(self.since))
        if not self.fixed:
            return join_messages((since, message("not fixed")), ", ")
        fixed = message("fixed in {releases:message}", releases=_join_releases(self.fixed))
        return join_messages((since, fixed), ", ")

    @property
    def way_out(self) -> Message:
        if not self.fixed:
            return message("No release has a fix.")
        return message("Upgrade to {releases:message}.", releases=_join_releases(self.fixed, "or"))

    def _affect(self, release: Numbers) -> Affected:
        if self.fixed and _is_reached(release, self.fixed):
            return "no"
        if not _is_reached(release, self.since):
            return "no" if self.is_introduced else "unknown"
        return "yes" if release[2] <= NEWEST_EXAMINED.get(release[:2], -1) else "unknown"

    def _is_past(self, branch: Numbers) -> bool:
        return bool(self.fixed) and branch > max(_numbers(release) for release in self.fixed)[:2]


def is_before(flink_version: str | None, release: str) -> bool:
    """Whether ``flink_version`` is earlier than ``release``, or not known."""
    name = named_release(flink_version)
    return name is None or name[0] < _numbers(release)


def _is_reached(release: Numbers, firsts: tuple[str, ...]) -> bool:
    """Whether the release is at or after the first of its branch, or after all firsts if the branch
    has none.
    """
    numbers = [_numbers(first) for first in firsts]
    in_branch = [first for first in numbers if first[:2] == release[:2]]
    return release >= max(in_branch or numbers)


def _numbers(release: str) -> Numbers:
    return tuple(int(number) for number in release.split("."))


def _join_releases(releases: tuple[str, ...], word: Literal["and", "or"] = "and") -> Message:
    if word == "and" or len(releases) == 1:
        return list_text(releases, len(releases))
    return message("{some:name} or {last:name}", some=", ".join(releases[:-1]), last=releases[-1])

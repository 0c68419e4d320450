from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.storage import tree
from ingest.storage.roots import Root
from ingest.storage.tree import Stat
from ingest.uris import is_below
from webapp.cleanup.choices import IN_PLACE, Way
from webapp.cleanup.manifest import PlanManifest
from webapp.cleanup.quarantine import folder_of


class TreeFiles:
    """File access of a clean-up. ``roots``: where planned files are read, and their quarantines;
    links below these are not followed.
    """

    def __init__(self, roots: Iterable[str] = ()) -> None:
        self._roots = sorted({root.rstrip("/") for root in roots}, key=len, reverse=True)

    @classmethod
    def of(cls, manifest: PlanManifest) -> "TreeFiles":
        places = (place for root in manifest.roots for place in (root.read_at, root.quarantine))
        return cls(place for place in places if place)

    def stat(self, path: str) -> Stat | None:
        """``None`` if nothing is at ``path``. Raises ``TreeError`` if it is no readable file."""
        try:
            return tree.stat(path, self._root_of(path))
        except tree.Gone:
            return None

    def is_behind_link(self, base: str, path: str) -> bool:
        """Whether the file, or a directory between ``base`` and it, is a link. Object stores have
        no links, and links of HDFS are not in use.
        """
        if "://" in path:
            return False
        steps = Path(path).relative_to(base).parts
        return any(Path(base, *steps[: number + 1]).is_symlink() for number in range(len(steps)))

    def move(self, source: str, target: str, expected: Stat) -> None:
        """The target is complete before the source is deleted.

        Raises ``Occupied``, ``Gone``, ``Changed``, ``TreeError``.
        """
        tree.move(source, target, expected, (self._root_of(source), self._root_of(target)))

    def delete(self, path: str, expected: Stat) -> None:
        """Raises ``Gone``, ``Changed``, ``TreeError``."""
        tree.delete(path, expected, self._root_of(path))

    def remove_empty(self, folder: str) -> None:
        """Removes the folder and its parent if they are empty. Object stores have no folders."""
        if "://" not in folder:
            tree.remove_empty(folder, self._root_of(folder))
            tree.remove_empty(str(Path(folder).parent), self._root_of(folder))

    def _root_of(self, path: str) -> str | None:
        return next((root for root in self._roots if path.startswith(f"{root}/")), None)


@dataclass(frozen=True)
class Planned:
    """One planned file, with its place before the move (``source``) and in quarantine (``target``);
    they are equal if it stays. ``base``: where its root is read; ``quarantine``: the folder above
    all plans, or ``base``. ``version``, ``markers``: see :class:`webapp.cleanup.journal.Row`.
    """

    path: str
    root: str
    base: str
    source: str
    target: str
    stat: Stat
    verdict: str
    quarantine: str
    way: str
    version: str | None = None
    markers: Sequence[str] = ()

    @property
    def bytes(self) -> int:
        return self.stat.bytes

    def is_kept_as(self, status: Stat) -> bool:
        """Whether a file in quarantine, which has ``status``, can be this file."""
        return status.bytes == self.bytes and (
            self.way != Way.RENAME or status.modified == self.stat.modified
        )


class Places:
    """Places of planned files before the move and in quarantine."""

    def __init__(self, manifest: PlanManifest, plan: str) -> None:
        self._roots = {root.uri: root for root in manifest.roots}
        self._bases = {root.uri: root.read_at.rstrip("/") for root in manifest.roots}
        self._folders = {
            root.uri: folder_of(root.quarantine, plan, number)
            for number, root in enumerate(manifest.roots)
            if root.moves not in IN_PLACE
        }

    @property
    def folders(self) -> list[str]:
        return list(self._folders.values())

    def read_at(self, path: str) -> str:
        root = next(root for root in self._roots.values() if is_below(path, root.uri))
        return Root(root.uri, root.read_at).readable(path)

    def of(self, row: Mapping[str, Any]) -> Planned:
        base, source = self._bases[row["root"]], row["listed_path"]
        below = source.removeprefix(f"{base}/")
        if below == source or any(step in ("", ".", "..") for step in below.split("/")):
            raise ValueError(f"{source!r} is not below {base!r}.")
        folder = self._folders.get(row["root"], base)
        root, stat = self._roots[row["root"]], Stat(row["bytes"], row["modified"])
        return Planned(
            row["path"],
            root.uri,
            base,
            source,
            f"{folder}/{below}",
            stat,
            row["verdict"],
            root.quarantine or base,
            root.moves,
        )

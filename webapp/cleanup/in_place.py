"""Files of a plan that stay where they are in their bucket, so that no byte is copied: hidden by
delete markers where it keeps versions, else tagged.

The order of versions decides nothing, as listings date them to the second: the store says which is
current, and the time says what is newer than a check.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ingest.storage.buckets import MOST_KEYS, Bucket, Object, Version
from ingest.storage.tree import Stat
from webapp.cleanup.errors import Halted
from webapp.cleanup.journal import Row
from webapp.cleanup.outcomes import FileOutcome
from webapp.cleanup.places import Planned
from webapp.cleanup.run import Run

TAG = "weir-quarantine"
MOST_TAGS = 10
"""Of one object, as S3 has it."""
_WRITTEN_SINCE = "it was written or deleted since"


class Hiding:
    """Hides by delete markers. A marker is put only if the planned version is current; a newer
    version that it hides is shown again at once.
    """

    def __init__(self, run: Run, bucket: Bucket) -> None:
        self._run, self._bucket = run, bucket

    def look(self, files: Sequence[Planned]) -> tuple[list[Planned], list[Row]]:
        """Files whose planned version is current, with its id; rows for the others."""
        going, rows = [], []
        for file, versions in self._versions(files):
            current = next((version for version in versions if version.is_latest), None)
            if current is None or current.stat is None:
                rows.append(self._run.row(file, FileOutcome.GONE))
            elif current.stat != file.stat:
                rows.append(self._run.row(file, FileOutcome.CHANGED, _words(current.stat)))
            else:
                going.append(replace(file, version=current.id))
        return going, rows

    def take(self, files: Sequence[Planned]) -> list[Row]:
        return self._run.together(files, self._hide, MOST_KEYS)

    def settle(
        self, files: Sequence[Planned], intended: Mapping[str, Collection[str]]
    ) -> list[Row]:
        found = []
        for file, versions in self._versions(files):
            meant = [version for version in versions if version.id in intended[file.path]]
            planned = [version for version in meant if version.stat == file.stat]
            if len(planned) == 1 and not planned[0].is_latest:
                found.append((replace(file, version=planned[0].id), versions))
        return self._judge(found)

    def put_back(self, files: Sequence[Planned], tried: Collection[str]) -> list[Row]:
        return self._run.together(files, self._show, MOST_KEYS)

    def purge(self, files: Sequence[Planned], tried: Collection[str]) -> list[Row]:
        return self._run.together(files, partial(self._delete, tried=tried), MOST_KEYS)

    def _hide(self, files: Sequence[Planned]) -> list[Row]:
        if self._bucket.versioning() != "Enabled":
            raise Halted(
                f"The bucket {self._bucket.name} keeps no versions any more, so a delete marker "
                "would not hide files but delete them. Enable versioning, then apply again; or "
                "withdraw the plan and make a new one."
            )
        keys = {file.path: (self._bucket.key(file.source), None) for file in files}
        errors = self._bucket.delete(list(keys.values()))
        rows = [
            self._run.failed(file, errors[keys[file.path]])
            for file in files
            if keys[file.path] in errors
        ]
        hidden = [file for file in files if keys[file.path] not in errors]
        rows += self._judge(list(self._versions(hidden)))
        by_path = {row.path: row for row in rows}
        return [by_path[file.path] for file in files]

    def _judge(self, found: Sequence[tuple[Planned, list[Version]]]) -> list[Row]:
        """Outcomes after markers were put. Versions not older than the planned one are newer than
        the check.
        """
        rows: list[Row] = []
        strays: list[Object] = []
        for file, versions in found:
            above = _above(file, versions)
            markers = [version.id for version in above or () if version.stat is None]
            if above is None:
                rows.append(self._run.row(file, FileOutcome.GONE))
            elif not above:
                error = OSError("the store put no delete marker on it")
                rows.append(self._run.failed(file, error))
            elif markers and len(markers) == len(above):
                hidden = replace(file, markers=markers)
                rows.append(self._run.row(hidden, FileOutcome.QUARANTINED))
            else:
                if any(version.is_latest and version.stat is None for version in above):
                    strays += [(self._bucket.key(file.source), marker) for marker in markers]
                rows.append(self._run.row(file, FileOutcome.CHANGED, _WRITTEN_SINCE))
        errors = self._bucket.delete(strays)
        if errors:
            raise Halted(
                f"A file was written to {next(iter(errors))[0]} while it was hidden, and could not "
                f"be shown again: {next(iter(errors.values()))}. Delete its delete marker, then "
                "continue."
            )
        return rows

    def _show(self, files: Sequence[Planned]) -> list[Row]:
        rows: dict[str, Row] = {}
        going: dict[str, list[Object]] = {}
        for file, versions in self._versions(files):
            current = next((version for version in versions if version.is_latest), None)
            if not any(version.id == file.version for version in versions):
                rows[file.path] = self._run.row(file, FileOutcome.GONE)
            elif current is not None and current.id == file.version:
                rows[file.path] = self._run.row(file, FileOutcome.RESTORED)
            elif current is None or current.id not in file.markers:
                rows[file.path] = self._run.row(file, FileOutcome.OCCUPIED, _WRITTEN_SINCE)
            else:
                key = self._bucket.key(file.source)
                there = {version.id for version in versions}
                going[file.path] = [(key, marker) for marker in file.markers if marker in there]
        errors = self._bucket.delete([version for objects in going.values() for version in objects])
        for file in files:
            failed = [errors[version] for version in going.get(file.path, ()) if version in errors]
            if failed:
                rows[file.path] = self._run.failed(file, failed[0])
            elif file.path in going:
                rows[file.path] = self._run.row(file, FileOutcome.RESTORED)
        return [rows[file.path] for file in files]

    def _delete(self, files: Sequence[Planned], *, tried: Collection[str]) -> list[Row]:
        """The version first: without its marker it would be current again. The marker goes if
        nothing else of the key is left that it hides.
        """
        rows: dict[str, Row] = {}
        going: dict[str, Object] = {}
        markers: dict[str, list[Object]] = {}
        for file, versions in self._versions(files):
            key = self._bucket.key(file.source)
            kept = next((one for one in versions if one.id == file.version), None)
            ours: list[Object] = [(key, one.id) for one in versions if one.id in file.markers]
            if len(ours) + (kept is not None) == len(versions):
                markers[file.path] = ours
            if kept is None:
                gone = FileOutcome.PURGED if file.path in tried else FileOutcome.GONE
                rows[file.path] = self._run.row(file, gone)
            elif kept.is_latest or not ours or kept.stat != file.stat:
                # Another marker means that another plan took it since.
                why = "its delete marker was removed"
                rows[file.path] = self._run.row(file, FileOutcome.CHANGED, why)
                markers.pop(file.path, None)
            else:
                going[file.path] = (key, kept.id)
        errors = self._bucket.delete(list(going.values()))
        for file in files:
            version = going.get(file.path)
            if version in errors:
                rows[file.path] = self._run.failed(file, errors[version])
                markers.pop(file.path, None)
            elif version is not None:
                rows[file.path] = self._run.row(file, FileOutcome.PURGED)
        # A marker that stays hides nothing.
        self._bucket.delete([one for objects in markers.values() for one in objects])
        return [rows[file.path] for file in files]

    def _versions(self, files: Sequence[Planned]) -> list[tuple[Planned, list[Version]]]:
        versions = self._bucket.versions([self._bucket.key(file.source) for file in files])
        return [(file, versions.get(self._bucket.key(file.source), [])) for file in files]


class Tagging:
    """Marks by a tag with the plan's name. Files stay readable until purged."""

    def __init__(self, run: Run, bucket: Bucket) -> None:
        self._run, self._bucket, self._plan = run, bucket, run.reader.name

    def look(self, files: Sequence[Planned]) -> tuple[list[Planned], list[Row]]:
        rows = [row for file, stat in self._stats(files) if (row := self._spared(file, stat))]
        spared = {row.path for row in rows}
        return [file for file in files if file.path not in spared], rows

    def take(self, files: Sequence[Planned]) -> list[Row]:
        return self._run.together(files, self._tag_all, MOST_KEYS)

    def settle(
        self, files: Sequence[Planned], intended: Mapping[str, Collection[str]]
    ) -> list[Row]:
        done = self._side_by_side(files, lambda file: self._tags(file).get(TAG) == self._plan)
        tagged = [file for file in files if done[file.path] is True]
        return [row for row in self._judge(tagged) if row.outcome == FileOutcome.QUARANTINED]

    def put_back(self, files: Sequence[Planned], tried: Collection[str]) -> list[Row]:
        def untagged(file: Planned) -> Row:
            try:
                self._untag(file)
            except FileNotFoundError:
                return self._run.row(file, FileOutcome.GONE)
            return self._run.row(file, FileOutcome.RESTORED)

        return self._run.together(files, partial(self._rows, act=untagged), MOST_KEYS)

    def purge(self, files: Sequence[Planned], tried: Collection[str]) -> list[Row]:
        return self._run.together(files, partial(self._delete, tried=tried), MOST_KEYS)

    def _tag_all(self, files: Sequence[Planned]) -> list[Row]:
        refused = {row.path: row for row in self._rows(files, act=self._tag) if row}
        tagged = [file for file in files if file.path not in refused]
        refused |= {row.path: row for row in self._judge(tagged)}
        return [refused[file.path] for file in files]

    def _tag(self, file: Planned) -> Row | None:
        """``None`` if it is done."""
        try:
            tags = self._tags(file)
            owner = tags.get(TAG, self._plan)
            if owner != self._plan:
                why = f"plan {owner[:12]} has tagged it"
                return self._run.row(file, FileOutcome.CHANGED, why)
            if len(tags.keys() | {TAG}) > MOST_TAGS:
                raise OSError(f"it has {MOST_TAGS} tags, as many as there can be")
            self._bucket.set_tags(self._bucket.key(file.source), tags | {TAG: self._plan})
        except FileNotFoundError:
            return self._run.row(file, FileOutcome.GONE)
        return None

    def _judge(self, files: Sequence[Planned]) -> list[Row]:
        """Outcomes of tagged files; newer files in their place lose the tag."""
        rows = []
        for file, stat in self._stats(files):
            row = self._spared(file, stat)
            if row is not None and stat is not None:
                self._untag(file)
            rows.append(row or self._run.row(file, FileOutcome.QUARANTINED))
        return rows

    def _delete(self, files: Sequence[Planned], *, tried: Collection[str]) -> list[Row]:
        rows: dict[str, Row] = {}
        for file, stat in self._stats(files):
            if stat is None and file.path in tried:
                rows[file.path] = self._run.row(file, FileOutcome.PURGED)
            elif row := self._spared(file, stat):
                rows[file.path] = row
        left = [file for file in files if file.path not in rows]
        tags = self._side_by_side(left, self._tags)
        going: dict[str, Object] = {}
        for file in left:
            known = tags[file.path]
            if isinstance(known, OSError):
                rows[file.path] = self._run.failed(file, known)
            elif known.get(TAG) != self._plan:
                why = "its tag was removed"
                rows[file.path] = self._run.row(file, FileOutcome.CHANGED, why)
            else:
                going[file.path] = (self._bucket.key(file.source), None)
        errors = self._bucket.delete(list(going.values()))
        for file in left:
            version = going.get(file.path)
            if version in errors:
                rows[file.path] = self._run.failed(file, errors[version])
            elif version is not None:
                rows[file.path] = self._run.row(file, FileOutcome.PURGED)
        return [rows[file.path] for file in files]

    def _tags(self, file: Planned) -> dict[str, str]:
        return self._bucket.tags(self._bucket.key(file.source))

    def _untag(self, file: Planned) -> None:
        tags = self._tags(file)
        if tags.get(TAG) == self._plan:
            del tags[TAG]
            self._bucket.set_tags(self._bucket.key(file.source), tags)

    def _stats(self, files: Sequence[Planned]) -> list[tuple[Planned, Stat | None]]:
        stats = self._bucket.stats([self._bucket.key(file.source) for file in files])
        return [(file, stats.get(self._bucket.key(file.source))) for file in files]

    def _spared(self, file: Planned, stat: Stat | None) -> Row | None:
        if stat is None:
            return self._run.row(file, FileOutcome.GONE)
        if stat != file.stat:
            return self._run.row(file, FileOutcome.CHANGED, _words(stat))
        return None

    def _side_by_side(
        self, files: Sequence[Planned], act: Callable[[Planned], Any]
    ) -> dict[str, Any]:
        by_path = {file.path: file for file in files}
        return self._bucket.side_by_side(list(by_path), lambda path: act(by_path[path]))

    def _rows(self, files: Sequence[Planned], *, act: Callable[[Planned], Row | None]) -> list[Any]:
        done = self._side_by_side(files, act)
        return [
            self._run.failed(file, row) if isinstance(row := done[file.path], OSError) else row
            for file in files
        ]


def _above(file: Planned, versions: Sequence[Version]) -> list[Version] | None:
    """Versions not older than the one to be hidden; ``None`` if that is gone."""
    kept = next((version for version in versions if version.id == file.version), None)
    if kept is None:
        return None
    return [
        version
        for version in versions
        if version is not kept and (version.at is None or kept.at is None or version.at >= kept.at)
    ]


def _words(stat: Stat) -> str:
    return f"{stat.bytes} bytes of {stat.modified}"

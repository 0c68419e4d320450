"""Files of a plan that stay in their bucket, so that no byte is copied. Delete markers hide them if
the bucket keeps versions; else they are tagged.

Listings date versions to the second, so their order is not used.
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
"""S3's limit for one object."""
_WRITTEN_SINCE = "it was written or deleted since"


class Hiding:
    """Hides files by delete markers, if the planned version is current. A marker that hides a newer
    version is removed at once.
    """

    def __init__(self, run: Run, bucket: Bucket) -> None:
        self._run, self._bucket = run, bucket

    def look(self, files: Sequence[Planned]) -> tuple[list[Planned], list[Row]]:
        """Files whose planned version is current, with its id; rows for all others."""
        hideable, rows = [], []
        for file, versions in self._versions(files):
            current = next((version for version in versions if version.is_latest), None)
            if current is None or current.stat is None:
                rows.append(self._run.row(file, FileOutcome.GONE))
            elif current.stat != file.stat:
                rows.append(self._run.row(file, FileOutcome.CHANGED, _size_and_time(current.stat)))
            else:
                hideable.append(replace(file, version=current.id))
        return hideable, rows

    def take(self, files: Sequence[Planned]) -> list[Row]:
        return self._run.in_batches(files, self._hide, MOST_KEYS)

    def settle(
        self, files: Sequence[Planned], intended: Mapping[str, Collection[str]]
    ) -> list[Row]:
        hidden = []
        for file, versions in self._versions(files):
            planned = [
                version
                for version in versions
                if version.id in intended[file.path] and version.stat == file.stat
            ]
            if len(planned) == 1 and not planned[0].is_latest:
                hidden.append((replace(file, version=planned[0].id), versions))
        return self._judge(hidden)

    def put_back(self, files: Sequence[Planned], interrupted: Collection[str]) -> list[Row]:
        return self._run.in_batches(files, self._show, MOST_KEYS)

    def purge(self, files: Sequence[Planned], interrupted: Collection[str]) -> list[Row]:
        return self._run.in_batches(
            files, partial(self._delete, interrupted=interrupted), MOST_KEYS
        )

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

    def _judge(self, versions_by_file: Sequence[tuple[Planned, list[Version]]]) -> list[Row]:
        """Outcomes after markers were put. A file is hidden if only markers are newer than its
        planned version.
        """
        rows: list[Row] = []
        strays: list[Object] = []
        for file, versions in versions_by_file:
            newer = _newer_versions(file, versions)
            markers = [version.id for version in newer or () if version.stat is None]
            if newer is None:
                rows.append(self._run.row(file, FileOutcome.GONE))
            elif not newer:
                error = OSError("the store put no delete marker on it")
                rows.append(self._run.failed(file, error))
            elif len(markers) == len(newer):
                hidden = replace(file, markers=markers)
                rows.append(self._run.row(hidden, FileOutcome.QUARANTINED))
            else:
                if any(version.is_latest and version.stat is None for version in newer):
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
        removals: dict[str, list[Object]] = {}
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
                ids = {version.id for version in versions}
                removals[file.path] = [(key, marker) for marker in file.markers if marker in ids]
        errors = self._bucket.delete(
            [marker for markers in removals.values() for marker in markers]
        )
        for file in files:
            failed = [errors[marker] for marker in removals.get(file.path, ()) if marker in errors]
            if failed:
                rows[file.path] = self._run.failed(file, failed[0])
            elif file.path in removals:
                rows[file.path] = self._run.row(file, FileOutcome.RESTORED)
        return [rows[file.path] for file in files]

    def _delete(self, files: Sequence[Planned], *, interrupted: Collection[str]) -> list[Row]:
        """Deletes the hidden version first, which would be current without its marker; then the
        marker, if the key has no other version.
        """
        rows: dict[str, Row] = {}
        deletions: dict[str, Object] = {}
        markers: dict[str, list[Object]] = {}
        for file, versions in self._versions(files):
            key = self._bucket.key(file.source)
            hidden = next((version for version in versions if version.id == file.version), None)
            own_markers: list[Object] = [
                (key, version.id) for version in versions if version.id in file.markers
            ]
            if len(own_markers) + (hidden is not None) == len(versions):
                markers[file.path] = own_markers
            if hidden is None:
                outcome = FileOutcome.PURGED if file.path in interrupted else FileOutcome.GONE
                rows[file.path] = self._run.row(file, outcome)
            elif hidden.is_latest or not own_markers or hidden.stat != file.stat:
                # Another marker means that another plan has hidden the file since.
                why = "its delete marker was removed"
                rows[file.path] = self._run.row(file, FileOutcome.CHANGED, why)
                markers.pop(file.path, None)
            else:
                deletions[file.path] = (key, hidden.id)
        errors = self._bucket.delete(list(deletions.values()))
        for file in files:
            version = deletions.get(file.path)
            if version in errors:
                rows[file.path] = self._run.failed(file, errors[version])
                markers.pop(file.path, None)
            elif version is not None:
                rows[file.path] = self._run.row(file, FileOutcome.PURGED)
        # If this fails, the marker stays and hides nothing.
        self._bucket.delete([marker for own_markers in markers.values() for marker in own_markers])
        return [rows[file.path] for file in files]

    def _versions(self, files: Sequence[Planned]) -> list[tuple[Planned, list[Version]]]:
        versions = self._bucket.versions([self._bucket.key(file.source) for file in files])
        return [(file, versions.get(self._bucket.key(file.source), [])) for file in files]


class Tagging:
    """Marks files by a tag with the plan's name. They stay readable."""

    def __init__(self, run: Run, bucket: Bucket) -> None:
        self._run, self._bucket, self._plan = run, bucket, run.reader.name

    def look(self, files: Sequence[Planned]) -> tuple[list[Planned], list[Row]]:
        rows = [row for file, stat in self._stats(files) if (row := self._changed_row(file, stat))]
        spared = {row.path for row in rows}
        return [file for file in files if file.path not in spared], rows

    def take(self, files: Sequence[Planned]) -> list[Row]:
        return self._run.in_batches(files, self._tag_all, MOST_KEYS)

    def settle(
        self, files: Sequence[Planned], intended: Mapping[str, Collection[str]]
    ) -> list[Row]:
        results = self._side_by_side(files, lambda file: self._tags(file).get(TAG) == self._plan)
        tagged = [file for file in files if results[file.path] is True]
        return [row for row in self._judge(tagged) if row.outcome == FileOutcome.QUARANTINED]

    def put_back(self, files: Sequence[Planned], interrupted: Collection[str]) -> list[Row]:
        def untagged(file: Planned) -> Row:
            try:
                self._untag(file)
            except FileNotFoundError:
                return self._run.row(file, FileOutcome.GONE)
            return self._run.row(file, FileOutcome.RESTORED)

        return self._run.in_batches(files, partial(self._rows, act=untagged), MOST_KEYS)

    def purge(self, files: Sequence[Planned], interrupted: Collection[str]) -> list[Row]:
        return self._run.in_batches(
            files, partial(self._delete, interrupted=interrupted), MOST_KEYS
        )

    def _tag_all(self, files: Sequence[Planned]) -> list[Row]:
        rows = {row.path: row for row in self._rows(files, act=self._tag) if row}
        tagged = [file for file in files if file.path not in rows]
        rows |= {row.path: row for row in self._judge(tagged)}
        return [rows[file.path] for file in files]

    def _tag(self, file: Planned) -> Row | None:
        """``None`` if the tag was set, else the row of the file."""
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
        """Outcomes of tagged files. A newer file that has taken the place loses the tag."""
        rows = []
        for file, stat in self._stats(files):
            row = self._changed_row(file, stat)
            if row is not None and stat is not None:
                self._untag(file)
            rows.append(row or self._run.row(file, FileOutcome.QUARANTINED))
        return rows

    def _delete(self, files: Sequence[Planned], *, interrupted: Collection[str]) -> list[Row]:
        rows: dict[str, Row] = {}
        for file, stat in self._stats(files):
            if stat is None and file.path in interrupted:
                rows[file.path] = self._run.row(file, FileOutcome.PURGED)
            elif row := self._changed_row(file, stat):
                rows[file.path] = row
        unchanged = [file for file in files if file.path not in rows]
        tags_or_errors = self._side_by_side(unchanged, self._tags)
        deletions: dict[str, Object] = {}
        for file in unchanged:
            tags = tags_or_errors[file.path]
            if isinstance(tags, OSError):
                rows[file.path] = self._run.failed(file, tags)
            elif tags.get(TAG) != self._plan:
                why = "its tag was removed"
                rows[file.path] = self._run.row(file, FileOutcome.CHANGED, why)
            else:
                deletions[file.path] = (self._bucket.key(file.source), None)
        errors = self._bucket.delete(list(deletions.values()))
        for file in unchanged:
            version = deletions.get(file.path)
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

    def _changed_row(self, file: Planned, stat: Stat | None) -> Row | None:
        """The row of a file that is gone or changed; None for an unchanged file."""
        if stat is None:
            return self._run.row(file, FileOutcome.GONE)
        if stat != file.stat:
            return self._run.row(file, FileOutcome.CHANGED, _size_and_time(stat))
        return None

    def _side_by_side(
        self, files: Sequence[Planned], act: Callable[[Planned], Any]
    ) -> dict[str, Any]:
        by_path = {file.path: file for file in files}
        return self._bucket.side_by_side(list(by_path), lambda path: act(by_path[path]))

    def _rows(self, files: Sequence[Planned], *, act: Callable[[Planned], Row | None]) -> list[Any]:
        results = self._side_by_side(files, act)
        return [
            self._run.failed(file, row) if isinstance(row := results[file.path], OSError) else row
            for file in files
        ]


def _newer_versions(file: Planned, versions: Sequence[Version]) -> list[Version] | None:
    """Versions that may be newer than the planned version; ``None`` if it is gone."""
    planned = next((version for version in versions if version.id == file.version), None)
    if planned is None:
        return None
    return [
        version
        for version in versions
        if version is not planned
        and (version.at is None or planned.at is None or version.at >= planned.at)
    ]


def _size_and_time(stat: Stat) -> str:
    return f"{stat.bytes} bytes of {stat.modified}"

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from typing import NamedTuple

from django.core.cache import cache
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone
from django.utils.translation import gettext

from ingest.uris import is_below
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, JobCurrent
from webapp.lib.chunks import chunks
from webapp.lib.storage_uris import canonical_or_none
from webapp.storage.choices import RootKind
from webapp.storage.models import StorageRoot

MOST_PATHS, MOST_PATHS_OF_AN_AUDIT = 5_000, 200_000
"""Newest checkpoints whose paths are read: for a page, and before an attestation counts."""
CACHED_S = 300
_RECENT = timedelta(days=7)
_JOB_AND_CHECKPOINT = re.compile(r"(?:/[0-9a-f]{32})?/chk-\d+$")
"""Flink may leave out the directory of the job (``execution.checkpointing.create-subdir``)."""
_SAVEPOINT = re.compile(r"/savepoint-[0-9a-f]{6}-[0-9a-f]{12}$")
_SETTINGS = {
    RootKind.CHECKPOINTS: (
        "execution.checkpointing.dir",
        "state.checkpoints.dir",
        "state.changelog.dstl.dfs.base-path",
        "dstl.dfs.base-path",
    ),
    RootKind.SAVEPOINTS: ("execution.checkpointing.savepoint-dir", "state.savepoints.dir"),
    RootKind.HIGH_AVAILABILITY: ("high-availability.storageDir",),
}
_ENTROPY_KEY, _USUAL_ENTROPY_KEY = "s3.entropy.key", "_entropy_"


class Place(NamedTuple):
    """``directory`` in any spelling, to which ``cluster`` writes; ``why``: Weir's source in words."""

    cluster: str
    kind: str
    directory: str
    why: str


@dataclass(frozen=True)
class Suggestion:
    """``uri`` is canonical; ``clusters`` write to it; ``why`` is Weir's source in words."""

    uri: str
    kind: str
    clusters: tuple[str, ...]
    why: str


def suggestions() -> list[Suggestion]:
    """Unregistered directories of all clusters, recordings included; cached for minutes."""
    suggested: list[Suggestion] = (
        cache.get_or_set(
            "storage-suggestions",
            lambda: _make_suggestions(_checkpoint_places(MOST_PATHS)),
            CACHED_S,
        )
        or []
    )
    roots = list(StorageRoot.objects.values_list("uri", flat=True))
    return [
        suggestion
        for suggestion in suggested
        if not any(is_below(suggestion.uri, root) for root in roots)
    ]


def uncovered(uris: Sequence[str]) -> list[str]:
    """Directories of checkpoints or savepoints of live clusters that are below none of ``uris``."""
    live = set(Cluster.objects.filter(kind=ClusterKind.LIVE).values_list("name", flat=True))
    savepoints = _facts_with_path().filter(is_savepoint=True)[:MOST_PATHS_OF_AN_AUDIT]
    # Of any age, because Flink does not delete savepoints.
    places = chain(_checkpoint_places(MOST_PATHS_OF_AN_AUDIT), _places(_reported_paths(savepoints)))
    return [
        suggestion.uri
        for suggestion in _make_suggestions(places)
        if live.intersection(suggestion.clusters)
        and not any(is_below(suggestion.uri, root) for root in uris)
    ]


def above_entropy(uri: str) -> str | None:
    """The directory above the entropy key in ``uri``; None without a key. Flink replaces the key
    with random characters, and drops it in names of ``_metadata``. Source: Flink's
    ``EntropyInjector``, ``AbstractS3FileSystemFactory``.
    """
    return _above_key(uri, _entropy_keys(_configurations()))


def _above_key(uri: str, keys: Iterable[str]) -> str | None:
    if not uri.startswith("s3://"):
        return None
    bucket = uri.partition("://")[2].partition("/")[0]
    offsets = [uri.find(key, len(f"s3://{bucket}")) for key in keys]
    first = min((offset for offset in offsets if offset >= 0), default=None)
    return None if first is None else uri[:first].rpartition("/")[0]


def _entropy_keys(configurations: Iterable[tuple[str, Mapping[str, str]]]) -> set[str]:
    configured = (configuration.get(_ENTROPY_KEY) for _cluster, configuration in configurations)
    return {_USUAL_ENTROPY_KEY, *filter(None, configured)}


def _make_suggestions(path_places: Iterable[Place]) -> list[Suggestion]:
    """The outermost directories of ``path_places`` and of configurations."""
    configurations = list(_configurations())
    keys = _entropy_keys(configurations)
    places: dict[str, list[Place]] = {}
    # Thousands of checkpoints lie in few directories.
    for place in dict.fromkeys(chain(_configured_places(configurations), path_places)):
        if uri := canonical_or_none(place.directory):
            places.setdefault(_above_key(uri, keys) or uri, []).append(place)
    suggested = []
    for uri, places_of_uri in sorted(places.items()):
        if not any(uri != other and is_below(uri, other) for other in places):
            clusters = tuple(sorted({place.cluster for place in places_of_uri}))
            suggested.append(Suggestion(uri, places_of_uri[0].kind, clusters, places_of_uri[0].why))
    return suggested


def _configured_places(configurations: Iterable[tuple[str, Mapping[str, str]]]) -> Iterator[Place]:
    for cluster, configuration in configurations:
        for kind, names in _SETTINGS.items():
            yield from (
                Place(cluster, str(kind), configuration[name], name)
                for name in names
                if configuration.get(name)
            )


def _configurations() -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each cluster with the configuration of its newest job that reported one."""
    configured = JobCurrent.objects.filter(
        cluster=OuterRef("name"), configuration__isnull=False
    ).exclude(configuration=None)
    newest = (
        Cluster.objects.order_by()
        .annotate(last=Subquery(configured.order_by("-id").values("pk")[:1]))
        .values_list("last", flat=True)
    )
    # The keys are read first: for a subquery PostgreSQL would expect many rows and read all jobs.
    for pks in chunks([pk for pk in newest if pk is not None], 200):
        for cluster, configuration in JobCurrent.objects.filter(pk__in=pks).values_list(
            "cluster", "configuration"
        ):
            if isinstance(configuration, Mapping):
                yield (
                    cluster,
                    {name: text for name, text in configuration.items() if isinstance(text, str)},
                )


def _last_paths() -> Iterator[tuple[str, str | None]]:
    """Last checkpoints of all known jobs, even long ended ones: they may refer to any root."""
    jobs = JobCurrent.objects.exclude(last_completed_path=None).exclude(last_completed_path="")
    yield from jobs.values_list("cluster", "last_completed_path").iterator(5_000)


def _checkpoint_places(most: int) -> Iterator[Place]:
    """Directories of completed checkpoints: a job's configuration may differ from its cluster's."""
    recordings = Cluster.objects.filter(kind=ClusterKind.RECORDING).values("name")
    with_path = _facts_with_path()
    recent = with_path.filter(trigger_time__gte=timezone.now() - _RECENT)[:most]
    recorded = with_path.filter(cluster__in=recordings)[:most]
    yield from _places(chain(_reported_paths(recent), _reported_paths(recorded), _last_paths()))


def _facts_with_path() -> "QuerySet[CheckpointFact]":
    facts = CheckpointFact.objects.exclude(external_path=None).exclude(external_path="")
    return facts.order_by("-id")


def _reported_paths(facts: "QuerySet[CheckpointFact]") -> Iterator[tuple[str, str | None]]:
    return facts.values_list("cluster", "external_path").iterator(5_000)


def _places(paths: Iterable[tuple[str, str | None]]) -> Iterator[Place]:
    for cluster, reported_path in paths:
        path = (reported_path or "").rstrip("/")
        for kind, pattern in (
            (RootKind.CHECKPOINTS, _JOB_AND_CHECKPOINT),
            (RootKind.SAVEPOINTS, _SAVEPOINT),
        ):
            if match := pattern.search(path):
                why = gettext("paths of checkpoints")
                yield Place(cluster, str(kind), path[: match.start()], why)

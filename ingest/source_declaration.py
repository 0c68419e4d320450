import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal

from ingest.records import Record

if TYPE_CHECKING:
    from ingest.cluster_run import ClusterRun


class Turn(IntEnum):
    """The order of a cluster's sources; those of one turn by their names."""

    JOBMANAGER = 0
    JOBS = 1
    METRICS = 2
    LOGS = 3
    BESIDE = 4
    ASKED_FOR = 5
    LAST = 6


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of a cluster. An ``address`` is asked over HTTP; a ``place`` is a path or URI,
    ``places`` a list of them with globs. ``option`` is that of ``add_cluster``.
    """

    field: str
    holds: Literal["address", "place", "places", "choice"]
    option: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """``name``: of its part of a cursor. ``tables``: records that it writes. ``reader`` is
    ``module:function``, which gets a :class:`ingest.cluster_run.ClusterRun` and returns a
    :class:`ingest.source_read.SourceRead`, or None if nothing was due: a coroutine where it asks
    over a network, a function where it reads ``files``. ``suffices``: a cluster may have this
    source alone. ``probe``: as ``reader`` for a connection test; it gets
    :class:`ingest.source_read.ProbeNotes`, too. ``subject``: what did not answer.
    """

    name: str
    turn: Turn
    reader: str
    wanted: Callable[["ClusterRun"], Any]
    settings: tuple[Setting, ...] = ()
    tables: tuple[type[Record], ...] = ()
    files: bool = False
    suffices: bool = False
    subject: str = ""
    probe: str = ""

    def read(self, run: "ClusterRun") -> Any:
        return pkgutil.resolve_name(self.reader)(run)

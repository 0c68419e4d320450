import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ingest.cluster_run import ClusterRun


class Turn(IntEnum):
    """The order in which a cluster's sources are read; within a turn, by name."""

    JOBMANAGER = 0
    JOBS = 1
    METRICS = 2
    LOGS = 3
    ADDITIONAL = 4
    ON_REQUEST = 5
    LAST = 6


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of a cluster. An ``address`` is requested over HTTP, a ``place`` is a path or URI,
    ``places`` are several, with globs. ``option``: option of ``add_cluster``.
    """

    field: str
    holds: Literal["address", "place", "places", "choice"]
    option: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """``name``: also the key of its part of the cursor. ``applies``: whether to read it for a run.
    ``reader``: ``module:function``. The function gets a ``ClusterRun`` and returns a
    ``SourceRead``, or None if nothing was due. It is a coroutine unless the source reads ``files``.
    ``suffices``: a cluster may have this source alone. ``probe``: like ``reader``, for a connection
    test; it gets ``ProbeNotes``, too. ``subject``: names the source in messages.
    """

    name: str
    turn: Turn
    reader: str
    applies: Callable[["ClusterRun"], Any]
    settings: tuple[Setting, ...] = ()
    files: bool = False
    suffices: bool = False
    subject: str = ""
    probe: str = ""

    def read(self, run: "ClusterRun") -> Any:
        return pkgutil.resolve_name(self.reader)(run)

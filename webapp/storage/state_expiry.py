"""Which keyed states of a job have a time-to-live, by the ``_metadata`` of its newest completed checkpoint, where Weir can read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from ingest.metadata.errors import MetadataError
from ingest.metadata.files import MetadataFile
from ingest.metadata.keyed_states import MOST_BYTES, described_states
from ingest.metadata.pieces import Handle, KeyedState, Operator
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.storage.xray.location import NotLocated, located

MOST_METADATA_BYTES = 16_000_000
SHOWN = 200
_DESCRIBES = ("meta", "keygroups")


@dataclass(frozen=True)
class NamedState:
    """``expires`` None, without name and kind: what describes the states of this operator lies in a file of its own."""

    operator_id: str
    operator: str
    name: str
    kind: str
    expires: bool | None


@dataclass(frozen=True)
class StateExpiry:
    """``why``: what is missing where nothing is known, and what to do."""

    states: Sequence[NamedState] = ()
    checkpoint_id: int | None = None
    why: str = ""

    @property
    def forever(self) -> list[NamedState]:
        return [one for one in self.states if one.expires is False]


def state_expiry(job: JobCurrent) -> StateExpiry:
    """Never raises for what a storage or a file is."""
    completed = CheckpointFact.objects.filter(cluster=job.cluster, job_id=job.job_id, outcome="completed", external_path__isnull=False)
    newest = completed.exclude(external_path="").order_by("-trigger_time").first()
    if newest is None or not newest.external_path:
        return StateExpiry(why=gettext("No completed checkpoint of this job with a path is known."))
    try:
        file = located(newest.external_path)
        if file.size is None or file.size > MOST_METADATA_BYTES:
            return StateExpiry(why=gettext("The _metadata of its newest checkpoint is too large to be read for a page."))
        names = {one["vertex_id"]: one.get("name") or "" for one in (job.graph or {}).get("vertices") or ()}
        return StateExpiry(_states(file, names), newest.checkpoint_id)
    except (NotLocated, MetadataError) as error:
        return StateExpiry(why=str(error))
    except OSError:
        return StateExpiry(why=gettext("The _metadata of its newest checkpoint is not there any more, or cannot be read."))


def _states(file: MetadataFile, names: Mapping[str, str]) -> list[NamedState]:
    """The first subtask with keyed state speaks for its operator."""
    first: dict[str, tuple[Operator, Handle]] = {}
    for piece in file.pieces():
        if isinstance(piece, KeyedState) and not piece.raw:
            for part in piece.parts:
                if isinstance(part, Handle) and part.kind in _DESCRIBES:
                    first.setdefault(piece.operator.operator_id, (piece.operator, part))
    found: list[NamedState] = []
    with file.open() as stream:
        for key, (operator, handle) in first.items():
            name = operator.name or names.get(key) or key
            if handle.stream is None or handle.stream.inline_at is None:
                found.append(NamedState(key, name, "", "", None))
                continue
            stream.seek(handle.stream.inline_at)
            content = stream.read(min(handle.stream.bytes, MOST_BYTES))
            found += [NamedState(key, name, one.name, one.kind, one.expires) for one in described_states(content)]
    return found[:SHOWN]

"""Which keyed states of a job have a time-to-live, by the ``_metadata`` of its newest checkpoint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from ingest.messages import brief, message
from ingest.metadata.dialects import MetadataError
from ingest.metadata.files import MetadataFile
from ingest.metadata.keyed_states import MOST_BYTES, described_states
from ingest.metadata.pieces import Handle, KeyedState, Operator, Stream
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.storage.xray.location import NotLocated, find_metadata, find_state_file

MOST_METADATA_BYTES = 16_000_000
MOST_STATES = 200
NAMED = 5
"""So many states are named in a sentence."""
MOST_FILES = 20
"""Descriptions outside the ``_metadata`` to open, one for each operator."""
MOST_READING_S = 10
"""Then no further file is opened: pages do not wait for a slow storage."""
_KINDS_WITH_DESCRIPTION = tuple(
    f"{within}{kind}"
    for within in ("", "changelog-materialized-")
    for kind in ("meta", "keygroups")
)


@dataclass(frozen=True)
class NamedState:
    """``expires``: None, without name and kind, if no description of the states could be read."""

    operator_id: str
    operator: str
    name: str
    kind: str
    expires: bool | None


@dataclass(frozen=True)
class StateExpiry:
    """``why`` nothing is known, and what to do; else ""."""

    states: Sequence[NamedState] = ()
    checkpoint_id: int | None = None
    why: str = ""

    @property
    def sentence(self) -> str:
        """How many states live forever and which; "" if unknown."""
        known = [state for state in self.states if state.expires is not None]
        forever = self.forever
        if not known:
            return ""
        if not forever:
            return message(
                "Every keyed state that its newest checkpoint describes has a time-to-live."
            )
        return message(
            "{forever:number} of {known:number} keyed states have no time-to-live: {named:name}.",
            forever=len(forever),
            known=len(known),
            named=named_states(forever),
        )

    @property
    def forever(self) -> list[NamedState]:
        return [state for state in self.states if state.expires is False]


def named_states(states: Sequence[NamedState]) -> str:
    """The first states, with shortened names, since names of SQL operators may take kilobytes."""
    return ", ".join(
        f"{brief(state.operator)}: {brief(state.name)}" for state in states[:NAMED]
    ) + ("…" if len(states) > NAMED else "")


def job_state_expiry(job: JobCurrent) -> StateExpiry:
    """Errors of storages and files are in the answer."""
    completed = CheckpointFact.objects.filter(
        **job.identity, outcome="completed", external_path__isnull=False
    )
    newest = completed.exclude(external_path="").order_by("-trigger_time").first()
    if newest is None or not newest.external_path:
        return StateExpiry(why=message("No completed checkpoint of this job with a path is known."))
    try:
        file = find_metadata(newest.external_path)
        if file.size is None or file.size > MOST_METADATA_BYTES:
            return StateExpiry(
                why=message(
                    "The _metadata of its newest checkpoint is too large to be read for a page."
                )
            )
        return StateExpiry(_states(file, job.vertex_names), newest.checkpoint_id)
    except (NotLocated, MetadataError) as error:
        return StateExpiry(why=str(error))
    except OSError:
        return StateExpiry(
            why=message(
                "The _metadata of its newest checkpoint is not there any more, or cannot be read."
            )
        )


def _states(file: MetadataFile, names: Mapping[str, str]) -> list[NamedState]:
    streams: dict[str, tuple[Operator, Stream | None]] = {}
    for piece in file.pieces():
        if isinstance(piece, KeyedState):
            _, stream = streams.get(piece.operator.operator_id, (piece.operator, None))
            streams[piece.operator.operator_id] = (
                piece.operator,
                stream or _description_stream(piece),
            )
    states: list[NamedState] = []
    deadline = monotonic() + MOST_READING_S
    for number, (key, (operator, stream)) in enumerate(streams.items()):
        name = operator.name or names.get(key) or key
        may_open = number < MOST_FILES and monotonic() < deadline
        content = (
            _description(file, stream)
            if stream is not None and (stream.inline_at is not None or may_open)
            else None
        )
        states += [
            NamedState(key, name, state.name, state.kind, state.expires)
            for state in described_states(content or b"")
        ] or [NamedState(key, name, "", "", None)]
    return states[:MOST_STATES]


def _description_stream(keyed_state: KeyedState) -> Stream | None:
    return next(
        (
            part.stream
            for part in keyed_state.parts
            if isinstance(part, Handle)
            and part.kind in _KINDS_WITH_DESCRIPTION
            and part.stream is not None
        ),
        None,
    )


def _description(file: MetadataFile, stream: Stream) -> bytes | None:
    """The description before a backend's state; None if its file is missing or unreadable."""
    if stream.inline_at is not None:
        return _read(file, stream.inline_at, stream.bytes)
    if stream.path is None:
        return None
    try:
        return _read(find_state_file(stream.path), stream.offset or 0, stream.bytes)
    except (NotLocated, OSError):
        return None


def _read(file: MetadataFile, at: int, size: int) -> bytes:
    with file.open() as stream:
        stream.seek(at)
        return stream.read(min(size, MOST_BYTES))

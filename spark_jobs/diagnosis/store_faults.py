import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.store_places import StorePlace, place_in
from spark_jobs.diagnosis.checkpoint_history import FAILED_OUTCOMES
from spark_jobs.diagnosis.failure_causes.table import READ_CHARS, cause_of
from spark_jobs.diagnosis.samples import CHECKPOINT_DIRECTORIES, CheckpointSample, JobWindow

THROTTLED, EXHAUSTED, REFUSED, TIMED_OUT = (
    "STORE_THROTTLED",
    "STORE_POOL_EXHAUSTED",
    "STORE_REFUSED",
    "STORE_TIMEOUT",
)
FAULTS = frozenset({THROTTLED, EXHAUSTED, REFUSED, TIMED_OUT})
CHECKPOINT, TASK, LOGGED, RETRIED = "checkpoint", "task", "logged", "retried"
RETRIES = "store_retried"
LINES = (RETRIES, "store_throttled", "store_pool_exhausted", "store_refused", "store_timeout")
FAILURES = ("task_state FAILED", "trigger_failed", "checkpoint_failed")
SAME_MS = 1_000
"""Tasks that fail together, and one failure in the log and in REST, count once."""

_OF_CHECKPOINTS = frozenset(
    {
        "IO_EXCEPTION",
        "TRIGGER_CHECKPOINT_FAILURE",
        "FINALIZE_CHECKPOINT_FAILURE",
        "CHECKPOINT_ASYNC_EXCEPTION",
    }
)
_WRITES_STATE = re.compile(
    r"in order to obtain the stream state handle|runtime\.state\.filesystem|FsCheckpoint"
    r"|FsCompletedCheckpoint|StateUploader|StateDownloader|changelog\.fs\.|MetadataOutputStream"
)
_WRITES_RESULTS = re.compile(
    r"Recoverable(?:Fs|Writer|MultiPart)|connector\.file\.|functions\.sink\.filesystem"
    r"|org\.apache\.(?:iceberg|hudi|paimon)\.|io\.delta\."
)
"""Sinks write files during checkpoints too."""


@dataclass(frozen=True)
class StoreFault:
    """``code``: one of ``FAULTS``. ``effect``: CHECKPOINT or TASK (the fault lost one), LOGGED,
    RETRIED. ``is_assumed``: no text names the bucket, so it is that of the checkpoint directory.
    """

    at_ms: int
    code: str
    effect: str
    place: StorePlace
    is_assumed: bool = False


@dataclass(frozen=True)
class _Report:
    at_ms: int
    effect: str
    text: str
    is_of_checkpoint: bool = False
    code: str | None = None
    path: str = ""


def find_faults(window: JobWindow, since_ms: int) -> list[StoreFault]:
    """Faults since ``since_ms`` whose bucket is known, oldest first, each once."""
    faults: dict[tuple[str, str, str, int], StoreFault] = {}
    for report in _reports(window, since_ms):
        if (code := _code_of(report)) is None:
            continue
        place = place_in(report.path) or _place_of(report.text)
        is_assumed = place is None and (report.is_of_checkpoint or _writes_checkpoint(report.text))
        place = _checkpoint_directory(window) if is_assumed else place
        if place is None:
            continue
        second = report.at_ms // SAME_MS
        keys = [(code, report.effect, place.uri, second + step) for step in (0, -1, 1)]
        if report.effect in (LOGGED, RETRIED):
            keys = [(code, report.effect, place.path, report.at_ms)]
        if not any(key in faults for key in keys):
            faults[keys[0]] = StoreFault(report.at_ms, code, report.effect, place, is_assumed)
    return sorted(faults.values(), key=lambda fault: (fault.at_ms, fault.code))


def _code_of(report: _Report) -> str | None:
    if report.code in FAULTS:
        return report.code
    cause = cause_of(report.text)
    return cause.code if cause and cause.code in FAULTS else None


def _place_of(text: str) -> StorePlace | None:
    start = text[:READ_CHARS]
    cause = cause_of(start)
    match = re.search(cause.regex, start) if cause else None
    return place_in(start, match.end() - 1 if match else 0)


def _reports(window: JobWindow, since_ms: int) -> Iterator[_Report]:
    explained_ids = set()
    for event in window.events:
        if event.at_ms < since_ms:
            continue
        reason = str(event.fields.get("reason_text") or "")
        text = "\n".join(filter(None, (event.message, event.detail or reason)))
        if event.kind in LINES:
            effect = RETRIED if event.kind == RETRIES else LOGGED
            path = str(event.fields.get("path") or "")
            is_of_job = window.job_id in text
            yield _Report(event.at_ms, effect, text, is_of_job, event.reason, path)
        elif event.rule_kind == FAILURES[0]:
            yield _Report(event.at_ms, TASK, text)
        else:
            # REST does not say why a checkpoint could not be begun, nor in which bucket.
            is_of_checkpoint = event.reason in _OF_CHECKPOINTS or not event.checkpoint_id
            is_of_checkpoint &= not _WRITES_RESULTS.search(text)
            report = _Report(event.at_ms, CHECKPOINT, text, is_of_checkpoint)
            yield report
            if _code_of(report):
                explained_ids.add(event.checkpoint_id)
    for sample in window.checkpoints:
        is_recent = since_ms <= sample.ended_ms <= window.at_ms
        is_explained = sample.checkpoint_id in explained_ids
        if is_recent and sample.outcome in FAILED_OUTCOMES and not is_explained:
            yield from _checkpoint_reports(sample)
    for failure in window.failures:
        if failure.at_ms >= since_ms:
            yield _Report(failure.at_ms, TASK, failure.stacktrace or failure.name)


def _checkpoint_reports(sample: CheckpointSample) -> Iterator[_Report]:
    texts = [str(decline["exception"]) for decline in sample.declines if decline.get("exception")]
    texts += filter(None, (sample.failure_message, sample.reason_text))
    for text in texts:
        is_of_checkpoint = sample.reason in _OF_CHECKPOINTS and not _WRITES_RESULTS.search(text)
        yield _Report(sample.ended_ms, CHECKPOINT, text, is_of_checkpoint)


def _writes_checkpoint(text: str) -> bool:
    return bool(_WRITES_STATE.search(text)) and not _WRITES_RESULTS.search(text)


def _checkpoint_directory(window: JobWindow) -> StorePlace | None:
    newest = max(
        (
            checkpoint
            for checkpoint in window.checkpoints
            if checkpoint.external_path and not checkpoint.is_savepoint
        ),
        key=lambda checkpoint: checkpoint.trigger_time_ms,
        default=None,
    )
    if newest:
        return place_in(newest.external_path or "")
    configured = (window.settings.get(name) for name in CHECKPOINT_DIRECTORIES)
    directory = next(filter(None, configured), None)
    return place_in(f"{directory}/shared/") if directory else None

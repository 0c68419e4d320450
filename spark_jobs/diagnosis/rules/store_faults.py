"""Clients retry, so a log line alone may have had no effect."""

from collections import Counter
from collections.abc import Iterator, Sequence

from ingest.messages import join_messages, list_text, message, plural
from spark_jobs.diagnosis.failure_causes.table import cause_by_code
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related, Threshold
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.statistics import counts_of
from spark_jobs.diagnosis.store_faults import (
    CHECKPOINT,
    EXHAUSTED,
    FAILURES,
    LINES,
    LOGGED,
    REFUSED,
    RETRIED,
    TASK,
    THROTTLED,
    StoreFault,
    find_faults,
)

RULE = "store.faults"
LOGGED_LINES = f"{RULE}.logged"
LOOK_BACK_MS = 600_000
MOST_PREFIXES = 10
ASSUMED = message(
    "No text names the bucket. It is taken to be that of the job's checkpoints, because these "
    "requests wrote them."
)

OTHER_JOBS = message("The page Object stores says which other jobs meet it.")


@rule(
    RULE,
    message("Object store fails requests"),
    message(
        "An object store throttled or refused requests of the job, or did not answer them, in the "
        "last ten minutes."
    ),
    fed_by="incidents/1.20.5/throttled-store",
    hold_s=900,
    reads=(*LINES, *FAILURES),
    needs=("checkpoints", "failures", "events"),
    thresholds=(
        Threshold(
            LOGGED_LINES,
            3,
            "count",
            1,
            10_000,
            message(
                "A client that tries again mostly gets through. Three lines in ten minutes say "
                "that the store is near its limit."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    by_store: dict[tuple[str, str], list[StoreFault]] = {}
    for fault in find_faults(window, window.at_ms - LOOK_BACK_MS):
        # A policy may refuse one prefix; limits on requests concern the whole bucket.
        store = fault.place.path if fault.code == REFUSED else fault.place.uri
        by_store.setdefault((fault.code, store), []).append(fault)
    costs = {
        key: sum(1_000 if fault.effect in (CHECKPOINT, TASK) else 1 for fault in faults)
        for key, faults in by_store.items()
    }
    for (code, store), faults in by_store.items():
        code_costs = {key: cost for key, cost in costs.items() if key[0] == code}
        is_worst = (code, store) == max(code_costs, key=lambda key: (code_costs[key], key[1]))
        yield _finding(window, limits, code, store, faults, explains=is_worst)


def _finding(
    window: JobWindow,
    limits: Limits,
    code: str,
    store: str,
    faults: Sequence[StoreFault],
    *,
    explains: bool,
) -> Finding:
    effects = Counter(fault.effect for fault in faults)
    failure_count = effects[CHECKPOINT] + effects[TASK]
    prefixes = list(counts_of(fault.place.prefix for fault in faults if fault.place.prefix))
    is_assumed = all(fault.is_assumed for fault in faults)
    return job_finding(
        window,
        RULE,
        "warning" if failure_count or effects[LOGGED] >= limits[LOGGED_LINES] else "info",
        "medium" if is_assumed else "high",
        subject=("store", f"{store} {code}", store),
        title=_title(code, store),
        cause=join_messages((*_effect_sentences(effects), *([ASSUMED] if is_assumed else ())), " "),
        next_step=join_messages((cause_by_code(code).next_step, OTHER_JOBS), " "),
        seen_at_ms=faults[-1].at_ms,
        began_at_ms=faults[0].at_ms,
        evidence=_evidence(limits, faults, effects, prefixes),
        related=(Related("store", store),),
        data={
            "fault": code,
            "store": store,
            "shared": f"{store} {code}",
            # If two buckets fail alike, it is unknown which one lost the checkpoint.
            "cause": code if explains else None,
            "prefixes": prefixes[:MOST_PREFIXES],
            "counts": dict(effects),
            "is_assumed": is_assumed,
        },
    )


def _title(code: str, store: str) -> str:
    if code == THROTTLED:
        return message("{store:name} throttles requests (503 or 429)", store=store)
    if code == EXHAUSTED:
        return message("No connection to {store:name} is free", store=store)
    if code == REFUSED:
        return message("{store:name} refuses access (403)", store=store)
    return message("Requests to {store:name} time out", store=store)


def _effect_sentences(effects: Counter[str]) -> Iterator[str]:
    if number := effects[CHECKPOINT]:
        yield plural(
            number,
            "{count:count} checkpoint was lost by it.",
            "{count:count} checkpoints were lost by it.",
        )
    if number := effects[TASK]:
        yield plural(
            number,
            "Tasks failed by it {count:count} time.",
            "Tasks failed by it {count:count} times.",
        )
    if not effects[CHECKPOINT] and not effects[TASK]:
        yield message(
            "No task or checkpoint is known to have failed because of it: the clients tried again."
        )


def _evidence(
    limits: Limits, faults: Sequence[StoreFault], effects: Counter[str], prefixes: Sequence[str]
) -> Iterator[Evidence]:
    yield Evidence(message("faults"), len(faults), "count")
    for name, kind in (
        (message("checkpoints lost"), CHECKPOINT),
        (message("failures of tasks"), TASK),
        (message("retries"), RETRIED),
    ):
        if effects[kind]:
            yield Evidence(name, effects[kind], "count")
    if effects[LOGGED]:
        yield limits.evidence(message("lines in logs"), effects[LOGGED], LOGGED_LINES)
    if prefixes:
        yield Evidence(message("prefixes"), list_text(prefixes, MOST_PREFIXES))

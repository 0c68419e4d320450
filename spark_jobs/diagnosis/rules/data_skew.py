from collections.abc import Iterator
from dataclasses import dataclass, replace

from ingest.messages import bytes_text, join_messages, list_text, message
from spark_jobs.diagnosis.checkpoint_history import completed
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, NotJudged, Threshold
from spark_jobs.diagnosis.meters import has_start, meters_agree, meters_are_of_now
from spark_jobs.diagnosis.origins import pressure_of
from spark_jobs.diagnosis.pressure import largest, value
from spark_jobs.diagnosis.record_rates import Rates, records_in, records_out
from spark_jobs.diagnosis.rule import rule, vertex_finding
from spark_jobs.diagnosis.samples import JobWindow, VertexWindow
from spark_jobs.diagnosis.unevenness import REPORTING_SHARE, Spread, spread

RULE = "data.skew"
RATIO = f"{RULE}.max_over_median"
STATE_KEPT_MS = 600_000
"""A window has the state of the newest checkpoint in each ten minutes."""
MIN_RECORDS, MIN_STATE = f"{RULE}.min_records_per_s", f"{RULE}.min_state_bytes"
BUSY = f"{RULE}.busy_ratio"
SLOW_BUSY = 0.5
"""From this share of time on, a subtask may hold records up."""


@dataclass(frozen=True)
class UnevenVertex:
    """``main``: the spread of its records if they are uneven, else of its state."""

    vertex_id: str
    main: Spread
    records: Spread | None = None
    rates: Rates | None = None
    window: VertexWindow | None = None
    is_source: bool = False
    state: Spread | None = None

    @property
    def quantity(self) -> str:
        return "records" if self.records else "state"

    @property
    def busy(self) -> float | None:
        if self.window is None:
            return None
        return largest(value(self.window.busy_ratio, index) for index in self.main.top)

    @property
    def slow_hosts(self) -> tuple[str, ...]:
        """Hosts of siblings that have fewer records but are busier than the hot subtasks: slow
        hosts, which leave records to the others.
        """
        if self.window is None or self.records is None or self.busy is None:
            return ()
        parallelism = len(self.window.busy_ratio)
        siblings = [index for index in range(parallelism) if index not in self.main.top]
        busy_ratios = [value(self.window.busy_ratio, index) for index in siblings]
        hot_hosts = {value(self.window.host, index) for index in self.main.top}
        hosts = tuple(dict.fromkeys(value(self.window.host, index) for index in siblings))
        if not siblings or not all(
            busy is not None and busy >= SLOW_BUSY and busy > self.busy for busy in busy_ratios
        ):
            return ()
        return tuple(host for host in hosts if host) if hot_hosts.isdisjoint(hosts) else ()


@rule(
    RULE,
    message("Uneven data"),
    message(
        "One subtask gets several times the records, or holds several times the state, of a "
        "typical sibling."
    ),
    fed_by="windows/1.20.5-C2",
    needs=("vertex_windows", "vertex_states"),
    lacking=message("records and state per subtask"),
    thresholds=(
        Threshold(
            RATIO,
            3.0,
            "times",
            1.5,
            1000.0,
            message(
                "Key groups alone may give one subtask twice as many as another; more comes from "
                "the keys themselves."
            ),
        ),
        Threshold(
            MIN_RECORDS,
            100.0,
            "records/s",
            0.0,
            1e9,
            message(
                "A few thousand records a window, below which neither shares nor load say much."
            ),
        ),
        Threshold(
            MIN_STATE,
            64 * 1024**2,
            "bytes",
            0.0,
            1e15,
            message("Smaller states are written and restored in no time, however uneven."),
        ),
        Threshold(
            BUSY,
            0.5,
            "ratio",
            0.0,
            1.0,
            message(
                "A hot subtask that is busy for more than half of the window limits the "
                "vertex. Otherwise the finding is only information."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    targets = {edge.target for edge in window.edges}
    uneven_vertices: dict[str, UnevenVertex] = {}
    starting_names: list[str] = []
    metered_names: list[str] = []
    for vertex in window.vertex_windows:
        is_source = vertex.vertex_id not in targets
        rates = _rates(vertex, is_source)
        records = spread(
            rates.per_s, limits[RATIO], limits[MIN_RECORDS], 0.0 if is_source else REPORTING_SHARE
        )
        if records is None:
            continue
        name = window.brief_name(vertex.vertex_id)
        if has_start(window):
            starting_names.append(name)
        elif rates.counted_ms is None and not meters_are_of_now(window, vertex, records):
            metered_names.append(name)
        elif rates.counted_ms is None or meters_agree(vertex, is_source, records, limits[RATIO]):
            uneven_vertices[vertex.vertex_id] = UnevenVertex(
                vertex.vertex_id, records, records, rates, vertex, is_source
            )
    for vertex_state in window.vertex_states:
        if state := spread(
            vertex_state.subtask_state_bytes, limits[RATIO], limits[MIN_STATE], REPORTING_SHARE
        ):
            uneven_vertex = uneven_vertices.get(vertex_state.vertex_id) or UnevenVertex(
                vertex_state.vertex_id, state
            )
            uneven_vertices[vertex_state.vertex_id] = replace(uneven_vertex, state=state)
    for uneven in uneven_vertices.values():
        yield _finding(window, limits, uneven)
    missing_data = None if window.terminal else _missing_data(window, starting_names, metered_names)
    if missing_data:
        raise NotJudged(missing_data)


def _missing_data(
    window: JobWindow, starting_names: list[str], metered_names: list[str]
) -> str | None:
    if starting_names:
        return message(
            "records of {starting:name} in a minute in which no task began",
            starting=list_text(starting_names),
        )
    if metered_names:
        return message(
            "record counters of each subtask of {remembered:name}, whose meters are "
            "uneven but average over a minute",
            remembered=list_text(metered_names),
        )
    if not window.vertex_states and _state_is_unreported(window):
        return message(
            "full state of each subtask, which the REST API gives for a checkpoint since Flink 1.15"
        )
    return None


def _state_is_unreported(window: JobWindow) -> bool:
    since_ms = min(
        (sample.ended_ms for sample in completed(window.checkpoints)), default=window.at_ms
    )
    return since_ms < window.at_ms - (STATE_KEPT_MS if window.config.mode else 0)


def _sets_pace(window: JobWindow, limits: Limits, uneven: UnevenVertex) -> bool:
    if uneven.is_source or uneven.busy is None or uneven.busy < limits[BUSY]:
        return False
    origin = pressure_of(window, limits).roots.get(uneven.vertex_id)
    return origin is not None and not set(origin.subtasks).isdisjoint(uneven.main.top)


def _rates(vertex: VertexWindow, is_source: bool) -> Rates:
    """Records in; of sources, records out of subtasks that have a partition."""
    if is_source:
        rates_out = records_out(vertex)
        return replace(rates_out, per_s=tuple(rate or None for rate in rates_out.per_s))
    rates, busy = records_in(vertex), vertex.busy_ratio
    if rates.counted_ms is None and None in busy and set(busy) != {None}:
        # A subtask that has not begun reports zeros, which are no measurement.
        return replace(
            rates,
            per_s=tuple(
                rate if value(busy, index) is not None else None
                for index, rate in enumerate(rates.per_s)
            ),
        )
    return rates


def _finding(window: JobWindow, limits: Limits, uneven: UnevenVertex) -> Finding:
    name = window.brief_name(uneven.vertex_id)
    main, busy = uneven.main, uneven.busy
    hot = list_text(f"{name}/{index}" for index in main.top)
    measured = uneven.window or next(
        (vertex for vertex in window.vertex_windows if vertex.vertex_id == uneven.vertex_id), None
    )
    hosts = measured.host if measured else ()
    return vertex_finding(
        window,
        uneven.vertex_id,
        RULE,
        "warning" if busy is not None and busy >= limits[BUSY] and not uneven.is_source else "info",
        "high" if uneven.state or (uneven.rates and uneven.rates.counted_ms) else "medium",
        title=message(
            "{hot:name} {words:message} {top_share:share} of the {of:message}",
            hot=hot,
            words=message("has") if len(main.top) == 1 else message("have"),
            top_share=main.top_share,
            of=message("records") if uneven.quantity == "records" else message("state"),
        ),
        cause=_cause(name, uneven, _sets_pace(window, limits, uneven)),
        next_step=_next_step(name, uneven),
        evidence=_evidence(limits, uneven),
        data={
            "vertex_id": uneven.vertex_id,
            "hot_subtasks": list(main.top),
            "share": main.top_share,
            "of": uneven.quantity,
            "counted_ms": uneven.rates.counted_ms if uneven.rates else None,
            "hosts": list(uneven.slow_hosts)
            or list(dict.fromkeys(host for index in main.top if (host := value(hosts, index)))),
            "state_hot_subtasks": list(uneven.state.top) if uneven.state else [],
        },
    )


def _evidence(limits: Limits, uneven: UnevenVertex) -> Iterator[Evidence]:
    if (unevenness := uneven.records) and uneven.rates:
        source = uneven.rates.source
        note = (
            message("a typical sibling gets none")
            if unevenness.ratio is None
            else message("largest over the median of the others")
        )
        yield limits.evidence(
            message("records, largest over typical"),
            unevenness.ratio,
            RATIO,
            join_messages((note, source), "; "),
        )
        yield limits.evidence(
            message("records of the hottest subtask"), unevenness.largest, MIN_RECORDS, source
        )
    if unevenness := uneven.state:
        note = (
            message("a typical sibling has none")
            if unevenness.ratio is None
            else message("full state; largest over the median of the others")
        )
        yield limits.evidence(message("state, largest over typical"), unevenness.ratio, RATIO, note)
        yield limits.evidence(
            message("state of the largest subtask"), int(unevenness.largest), MIN_STATE
        )
    if uneven.busy is not None:
        sign = ">=" if uneven.busy >= limits[BUSY] else "<"
        yield limits.evidence(
            message("busiest of the hot subtasks"), uneven.busy, BUSY, comparison=sign
        )


def _cause(name: str, uneven: UnevenVertex, sets_pace: bool) -> str:
    unevenness = uneven.main
    times = (
        message("while a typical sibling has none")
        if unevenness.ratio is None
        else message("{ratio:decimal1} times a typical sibling", ratio=unevenness.ratio)
    )
    amount = (
        bytes_text(unevenness.largest)
        if uneven.quantity == "state"
        else message("{largest:count} records/s", largest=unevenness.largest)
    )
    if hosts := uneven.slow_hosts:
        return message(
            "The hottest subtask of {name:name} has {amount:message}, {times:message}, but those "
            "with fewer records, on {hosts:name}, are busier: {words:message} slower, and the "
            "others take what is not taken there. That is no unevenness of keys or partitions.",
            name=name,
            amount=amount,
            times=times,
            hosts=list_text(hosts),
            words=message("that host is") if len(hosts) == 1 else message("these hosts are"),
        )
    pace = (
        message(", and its busiest subtask sets the pace: what feeds it is back-pressured")
        if sets_pace
        else ""
    )
    return message(
        "The hottest subtask of {name:name} has {amount:message}, {times:message}: keys or "
        "partitions are not spread evenly{pace:message}.",
        name=name,
        amount=amount,
        times=times,
        pace=pace,
    )


def _next_step(name: str, uneven: UnevenVertex) -> str:
    if hosts := uneven.slow_hosts:
        return message(
            "Compare {hosts:name} with the other hosts first: CPU, disk, network, and what else "
            "runs there.",
            hosts=list_text(hosts),
        )
    if uneven.quantity == "state":
        return message(
            "Its records are not known to be uneven: look at the state of single keys of "
            "{name:name}, such as a list or map that only grows, a window or a join side that is "
            "never cleared. Set a state time-to-live or clear it; else divide the key.",
            name=name,
        )
    if uneven.is_source:
        return message(
            "Look at the partitions that {name:name} reads: spread the writers' keys, or "
            "rebalance() right after the source.",
            name=name,
        )
    return message(
        "Count records by key before {name:name}: pre-aggregate or salt the hot ones, "
        "filter sentinel keys (null, 0, 'unknown'), or choose a key with more values.",
        name=name,
    )

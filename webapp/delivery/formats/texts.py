"""Parts of notices as texts of limited length. The formats escape them."""

import hashlib
from collections.abc import Callable, Iterator

from webapp.delivery.notices import FIRING, Notice, NoticeAlert
from webapp.delivery.titles import leading, one_line, severity_of
from webapp.findings.figures import figures
from webapp.lib.quantities import UNKNOWN

CUT = " … (cut)"
MOST_SHOWN = 10
"""Alerts that people get as text; further alerts are counted."""
LONGEST_KEY = 255
MOST_LABELS = 15
UTF16 = "utf-16-le"

SHAPES = {"critical": "▲", "warning": "◆", "info": "○"}


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - len(CUT)].rstrip() + CUT


def cut_bytes(text: str, most: int, encoding: str = "utf-8") -> str:
    raw = text.encode(encoding, errors="replace")
    if len(raw) <= most:
        return raw.decode(encoding)
    kept = raw[: most - len(CUT.encode(encoding))]
    return kept.decode(encoding, errors="ignore").rstrip() + CUT


def line(text: str, most: int = 300) -> str:
    return cut(one_line(text), most)


def mark(alert: NoticeAlert) -> str:
    if alert.status != FIRING:
        return "■ resolved"
    return f"{SHAPES.get(alert.severity, '?')} {alert.severity}"


def location(alert: NoticeAlert) -> str:
    """``prod-eu / orders / slow-enrich``, without empty or repeated parts."""
    parts: list[str] = []
    for part in (alert.cluster, alert.job_name or alert.job_id, alert.subject):
        if part and part not in parts:
            parts.append(part)
    return " / ".join(line(part, 120) for part in parts)


def period(alert: NoticeAlert) -> str:
    began = f"{alert.starts_at:%Y-%m-%d %H:%M:%S} UTC"
    return (
        f"{began} to {alert.ends_at:%Y-%m-%d %H:%M:%S} UTC" if alert.ends_at else f"since {began}"
    )


def notes(alert: NoticeAlert) -> list[str]:
    sentences = []
    if alert.incident_title not in ("", alert.title):
        sentences.append(f"It follows from: {line(alert.incident_title, 200)}")
    if alert.flapping:
        sentences.append(
            "It fires repeatedly (flapping); it is resolved after ten minutes without firing."
        )
    if alert.acknowledged_by:
        sentences.append(f"Acknowledged by {line(alert.acknowledged_by, 100)}.")
    if alert.muted_count:
        names = ", ".join(line(name, 60) for name in alert.muted[:10])
        sentences.append(
            f"It inhibits {alert.muted_count} other alerts: "
            f"{names}{' …' if alert.muted_count > 10 else ''}"
        )
    return sentences


def first_alerts(notice: Notice, most: int = MOST_SHOWN) -> tuple[list[NoticeAlert], int]:
    """The first alerts, and the number of further alerts."""
    first = list(notice.alerts[:most])
    return first, max(notice.alerts_total - len(first), 0)


def counts_text(notice: Notice) -> str:
    parts = [
        f"{count} {word}"
        for count, word in ((notice.firing_total, "firing"), (notice.resolved_total, "resolved"))
        if count
    ]
    return ", ".join(parts)


def evidence(alert: NoticeAlert, most: int = 5) -> Iterator[str]:
    """Lines such as ``busy: 95 % ≥ 50 %``."""
    for figure in figures(alert.evidence[:most]):
        if figure.value != UNKNOWN:
            yield line(f"{figure.name}: {figure.value} {figure.compared}".rstrip(), 200)


def block(
    alert: NoticeAlert, head: str, escape: Callable[[str], str], next_step: str, bullet: str
) -> str:
    """``head`` is the first line; ``next_step`` and ``bullet`` are prefixes."""
    lines = [head, escape(f"{location(alert)} · {period(alert)}")]
    if alert.status == FIRING:
        lines += [
            escape(line(alert.cause, 600)),
            f"{next_step} {escape(line(alert.next_step, 400))}",
            *(f"{bullet}{escape(figure)}" for figure in evidence(alert, 3)),
        ]
    return "\n".join(filter(None, [*lines, *map(escape, notes(alert))]))


def fit_texts(
    notice: Notice,
    text_of: Callable[[NoticeAlert], str],
    most: int,
    size: Callable[[str], int] = len,
) -> str:
    """The texts of alerts that fit into ``most``, one at least, then the number of further alerts."""
    alerts, more = first_alerts(notice)
    room = most - 80
    blocks: list[str] = []
    for alert in alerts:
        text = text_of(alert)
        if blocks and size("\n\n".join([*blocks, text])) > room:
            more += len(alerts) - len(blocks)
            break
        blocks.append(text)
    return "\n\n".join(blocks) + (f"\n\n… and {more} more." if more else "")


def fit_units(notice: Notice, text_of: Callable[[NoticeAlert], str], most: int) -> str:
    """As :func:`fit_texts`, cut to ``most`` units of UTF-16: a receiver may count them or letters."""
    text = fit_texts(
        notice, text_of, most, lambda text: len(text.encode(UTF16, errors="replace")) // 2
    )
    return cut_bytes(text, 2 * most, UTF16)


def dedup_key(group: str) -> str:
    """By which alert services know that notices are about the same group."""
    key = f"weir/{line(group, 10_000)}"
    return key if len(key) <= LONGEST_KEY else f"weir/{digest(group)}"


def digest(group: str) -> str:
    return hashlib.sha256(group.encode(errors="replace")).hexdigest()


def routing_facts(notice: Notice) -> dict[str, str]:
    """What alert services route by: labels of the leading alert, and what it is about."""
    lead = leading(notice)
    facts = {"cluster": notice.cluster, "family": notice.family, "severity": severity_of(notice)}
    if lead:
        labels = dict(list(lead.labels.items())[:MOST_LABELS])
        facts = {**labels, **facts, "job": lead.job_name, "rule": lead.rule}
        facts["runbook"] = lead.links.get("runbook", "")
    lines = {line(name, 50): line(value, 255) for name, value in facts.items()}
    return {name: value for name, value in lines.items() if name and value}

from webapp.delivery.notices import FIRING, RESOLVED, Notice, NoticeAlert

_ORDER = {"critical": 0, "warning": 1, "info": 2}


def title_of(notice: Notice) -> str:
    """``[firing 3] prod-eu: Checkpoints of orders are declined (and 2 more)``"""
    if notice.kind == "test":
        return "[test] Weir can reach this endpoint"
    if notice.kind == "endpoint_disabled":
        return (
            one_line(notice.alerts[0].title) if notice.alerts else "[Weir] An endpoint was disabled"
        )
    count = notice.firing_total if notice.status == FIRING else notice.resolved_total
    lead = leading(notice)
    more = notice.alerts_total - 1
    words = (
        f"[{notice.status} {count}] {notice.cluster or 'storage'}: "
        f"{(lead.incident_title or lead.title) if lead else notice.family}"
    )
    return one_line(words + (f" (and {more} more)" if more > 0 else ""))


def leading(notice: Notice) -> NoticeAlert | None:
    """The worst alert with the notice's status; of equally severe ones, a changed one."""
    ranked = sorted(
        notice.alerts,
        key=lambda alert: (
            alert.status != notice.status,
            _ORDER.get(alert.severity, 3),
            alert.uid not in notice.changed,
        ),
    )
    return ranked[0] if ranked else None


def severity_of(notice: Notice) -> str:
    """The worst severity of its alerts that fire; :data:`RESOLVED` if none does."""
    if notice.status != FIRING:
        return RESOLVED
    lead = leading(notice)
    return lead.severity if lead and lead.severity in _ORDER else "warning"


def one_line(text: str) -> str:
    """``text`` without control characters and marks of text direction."""
    return " ".join("".join(letter if _shows(letter) else " " for letter in text).split())


def _shows(letter: str) -> bool:
    code = ord(letter)
    is_direction = (
        code in (0x061C, 0x200E, 0x200F) or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069
    )
    is_surrogate = 0xD800 <= code <= 0xDFFF
    return (
        code >= 0x20
        and not 0x7F <= code <= 0x9F
        and code not in (0x2028, 0x2029)
        and not is_direction
        and not is_surrogate
    )

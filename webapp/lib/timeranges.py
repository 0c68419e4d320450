"""The time range of a page: ``?from=now-6h&to=now`` or absolute instants. The texts are kept as
they were typed: links to 'the last six hours' stay relative.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext

from webapp.lib import shown_zone
from webapp.lib.instants import day_text, drawable, instant_text, minute_text, span_text

PRESETS = (("1 h", "now-1h"), ("6 h", "now-6h"), ("24 h", "now-24h"), ("7 d", "now-7d"))
DEFAULT_FROM, DEFAULT_TO = "now-6h", "now"
LONGEST = timedelta(days=90)
LEAST_MARGIN = timedelta(seconds=2)
"""Links have whole seconds: less could become an empty range."""

_USED = "weir.time_range_is_used"
_RELATIVE = re.compile(r"now(?:-([0-9]{1,6})([smhdw]))?\Z")
_UNIT = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class BadTimeRange(ValueError):
    """The message is one sentence for the person who typed the range."""


class NoSuchTime(BadTimeRange):
    """The local time does not exist: clocks are set forward."""


@dataclass(frozen=True)
class TimeRange:
    """``from_time`` < ``to_time``. ``chosen`` is false if the page's default applies. ``note``: why
    another range than the requested one is shown; ``cut``: which part of a longer time is shown.
    """

    from_time: datetime
    to_time: datetime
    from_text: str
    to_text: str
    chosen: bool = True
    note: str = ""
    cut: str = ""

    @property
    def query(self) -> str:
        """'from=now-6h&to=now'."""
        return urlencode({"from": self.from_text, "to": self.to_text})

    @property
    def hours(self) -> float:
        return (self.to_time - self.from_time) / timedelta(hours=1)

    @property
    def is_absolute(self) -> bool:
        return not (self.from_text.startswith("now-") and self.to_text == "now")

    @property
    def short_words(self) -> str:
        """For the header: '11-21 04:09 – 10:09 UTC', without the year if it is the same day."""
        first, last = day_text(self.from_time)[:5], day_text(self.to_time)[:5]
        return self.words[5:].replace(f"– {last}", "– ") if first == last else self.words

    @property
    def words(self) -> str:
        """'2026-11-21 04:09 – 10:09 UTC', with a second day if it differs."""
        start, end = minute_text(self.from_time), minute_text(self.to_time)
        if start[16:] == end[16:]:
            start = start[:16]
        return f"{start} – {end.removeprefix(f'{start[:10]} ')}"

    @property
    def from_shown(self) -> str:
        """As typed, or an instant in the shown zone."""
        return shown_text(self.from_text, self.from_time)

    @property
    def to_shown(self) -> str:
        return shown_text(self.to_text, self.to_time)

    @property
    def example(self) -> str:
        if shown_zone.current() is UTC:
            return "2026-11-21T04:10:00Z"
        return minute_text(datetime(2026, 11, 21, 4, 10, tzinfo=UTC))


def parse(parameters: Mapping[str, str], at: datetime) -> TimeRange:
    from_text = parameters.get("from", "").strip() or DEFAULT_FROM
    to_text = parameters.get("to", "").strip() or DEFAULT_TO
    chosen = bool(parameters.get("from", "").strip())
    start, end = instant(from_text, at), instant(to_text, at)
    if end <= start:
        raise BadTimeRange(
            gettext("The time range ends (%(end)s) before it starts (%(start)s); swap from and to.")
            % {"end": instant_text(end), "start": instant_text(start)}
        )
    if end - start > LONGEST:
        raise BadTimeRange(
            gettext("The time range is longer than %(days)s days; choose a shorter one.")
            % {"days": LONGEST.days}
        )
    return TimeRange(start, end, from_text, to_text, chosen=chosen)


def default(at: datetime) -> TimeRange:
    return parse({}, at)


def around(
    first: datetime, last: datetime, margin: timedelta = LEAST_MARGIN, *, chosen: bool = True
) -> TimeRange:
    """The range from ``first`` to ``last`` with up to ``margin`` on both sides, or the end of a time
    that is longer than ``LONGEST``.
    """
    first, last = drawable(first), drawable(last)
    duration = max(last - first, timedelta())
    margin = min(max(margin, LEAST_MARGIN), max(LONGEST - duration, 2 * LEAST_MARGIN) / 2)
    end = last + margin
    start = max(min(first, last) - margin, end - LONGEST)
    cut = ""
    if duration > LONGEST:
        values = {"last": span_text(first, last), "days": LONGEST.days}
        cut = gettext("It lasted %(last)s; charts show its last %(days)s days.") % values
    return TimeRange(start, end, iso_text(start), iso_text(end), chosen=chosen, cut=cut)


def instant(text: str, at: datetime, *, later: bool = False) -> datetime:
    """Reads ``now-6h`` or an ISO instant, which may have an IANA zone after it and is UTC without a
    zone; limited to instants that charts can draw. A local time that occurs twice is the first, or
    with ``later`` the second one. Raises :class:`BadTimeRange`.
    """
    text = text.strip()
    relative = _RELATIVE.match(text)
    try:
        if relative:
            amount, unit = relative.groups()
            return drawable(at - timedelta(**{_UNIT[unit]: int(amount)}), LONGEST) if amount else at
        iso, zone = _split_zone(text)
        parsed = datetime.fromisoformat(iso)
        if parsed.tzinfo is None:
            parsed = _to_utc(zone, parsed, later)
        return drawable(parsed.astimezone(UTC), LONGEST)
    except BadTimeRange:
        raise
    except ValueError as error:
        raise BadTimeRange(
            gettext("%(text)s is not a time; write now-6h or 2026-11-21T04:10:00Z.")
            % {"text": f"{text[:40]!r}"}
        ) from error
    except OverflowError as error:
        raise BadTimeRange(
            gettext("%(text)s is out of range.") % {"text": f"{text[:40]!r}"}
        ) from error


def _split_zone(text: str) -> tuple[str, tzinfo]:
    """(ISO text, zone) of '2026-11-21 12:10 +08:00', as pages show it, or of a text with a zone's
    name.
    """
    head, _, last = text.rpartition(" ")
    if head and re.fullmatch(r"[+-][0-9]{2}:[0-9]{2}", last):
        return head + last, UTC
    zone = shown_zone.named(last) if head else None
    return (head, zone) if zone is not None else (text, UTC)


def _to_utc(zone: tzinfo, clock: datetime, later: bool) -> datetime:
    utc = clock.replace(tzinfo=zone, fold=int(later)).astimezone(UTC)
    if utc.astimezone(zone).replace(tzinfo=None, fold=0) != clock:
        raise NoSuchTime(
            f"{clock:%Y-%m-%d %H:%M} does not exist in {zone}: the clocks are put forward over it. "
            "Give a time before or after."
        )
    return utc


ZONE = "zone"
"""The form field with the zone in which instants were typed."""


def absolute(entered: QueryDict, *names: str) -> QueryDict:
    """The fields of a form with its instants in UTC: the URL means the same to everybody. An
    invalid instant gets the zone appended; the error is reported when it is read again.
    """
    zone = entered.get(ZONE, "")
    fields = entered.copy()
    fields.pop(ZONE, None)
    for name in names or ("from", "to"):
        text = fields.get(name, "").strip()
        if text and _names_no_zone(text) and shown_zone.named(zone):
            try:
                fields[name] = iso_text(
                    instant(f"{text} {zone}", datetime.now(UTC), later=name in _ENDS)
                )
            except BadTimeRange:
                fields[name] = f"{text} {zone}"
    return fields


_ENDS = ("to", "ends_at")


def _names_no_zone(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is None
    except ValueError:
        return False


def as_shown(text: str) -> str:
    """As :func:`shown_text`; an invalid text stays as it is."""
    try:
        return shown_text(text, instant(text, datetime.now(UTC)))
    except BadTimeRange:
        return text


def shown_text(text: str, at: datetime) -> str:
    """``text``, which means ``at``; an absolute one in the shown zone, with its offset."""
    return text if _RELATIVE.match(text) or shown_zone.current() is UTC else instant_text(at)


def iso_text(instant: datetime) -> str:
    """In URLs: '2026-11-21T04:10:00Z'."""
    return instant.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def from_request(
    request: HttpRequest, at: datetime, fallback: TimeRange | None = None
) -> TimeRange:
    """If the requested range is invalid: ``fallback``, or the last six hours, with the reason as
    ``note``. A page that calls this function shows the picker (:func:`is_used`).
    """
    request.META[_USED] = True
    return range_of(request, at, fallback)


def last_day(request: HttpRequest, at: datetime) -> TimeRange:
    return from_request(request, at, parse({"from": "now-24h", "to": DEFAULT_TO}, at))


def is_used(request: HttpRequest) -> bool:
    return _USED in request.META


def range_of(request: HttpRequest, at: datetime, fallback: TimeRange | None = None) -> TimeRange:
    """As :func:`from_request`, for code that only passes the range on."""
    try:
        time_range = parse(request.GET, at)
    except BadTimeRange as error:
        return replace(fallback or default(at), note=str(error))
    return time_range if time_range.chosen or fallback is None else fallback

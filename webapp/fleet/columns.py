"""Columns of the fleet table. A new one needs a column of ``job_current``
(``spark_jobs/serving.py``), its heading here, its ``<td>`` in ``templates/fleet/_job_table.html``,
a ``Sort`` if it sorts, and a name in ``EXPORT_COLUMNS`` of ``webapp/site/views/fleet.py``.
"""

from dataclasses import dataclass

from webapp.lib.translations import gettext_lazy as _


@dataclass(frozen=True)
class Column:
    """``hide``: CSS class of page widths that do not show the column; ``numeric``: aligned right."""

    title: str
    sort: str = ""
    hide: str = ""
    numeric: bool = False
    hint: str = ""


FLEET_COLUMNS = (
    Column(
        _("Health"),
        "health",
        hint=_(
            "100 minus what open findings deduct; ? if nothing is known, which is not the "
            "same as healthy"
        ),
    ),
    Column(_("Status"), "state", "medium"),
    Column(_("Job"), "name"),
    Column(
        _("Why"),
        "",
        "medium",
        hint=_("the worst open finding; of an ended job the worst that was found"),
    ),
    Column(
        _("Last 16 checkpoints"),
        "failed",
        "wide",
        hint=_("oldest left; tall red failed, green completed, diamond savepoint"),
    ),
    Column(
        _("p95"),
        "duration",
        "wide",
        numeric=True,
        hint=_("end to end, over the last completed checkpoints"),
    ),
    Column(
        _("State"),
        "size",
        "narrow",
        numeric=True,
        hint=_("full state of the newest completed checkpoint"),
    ),
    Column(
        _("Pressure"),
        "pressure",
        "wide",
        numeric=True,
        hint=_("largest back-pressured share of any vertex's subtasks"),
    ),
    Column(
        _("Burn"),
        "burn",
        "widest",
        numeric=True,
        hint=_(
            "how fast it uses up the error budget of its objectives, over the rate that alerts, and "
            "over how long: 1 × and more alerts"
        ),
    ),
    Column(
        _("Last success"),
        "",
        "wide",
        numeric=True,
        hint=_("end of the newest completed checkpoint"),
    ),
)


@dataclass(frozen=True)
class Heading:
    """``sort``: what a click sorts by; ``direction``: "" if another column sorts the table."""

    column: Column
    sort: str = ""
    direction: str = ""


def headings(sort: str, descending: bool) -> list[Heading]:
    """A first click sorts figures descending, names ascending."""
    return [_heading(column, sort, descending) for column in FLEET_COLUMNS]


def _heading(column: Column, sort: str, descending: bool) -> Heading:
    if not column.sort:
        return Heading(column)
    direction = ""
    next_descending = column.numeric or column.sort == "failed"
    if sort == column.sort:
        direction = "descending" if descending else "ascending"
        next_descending = not descending
    return Heading(column, f"-{column.sort}" if next_descending else column.sort, direction)

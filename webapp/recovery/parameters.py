"""What the restores of a job can be asked with."""

from typing import Any

from django.utils.translation import gettext

from webapp.checkpoints.advice import DEFAULT_FAILED_SHARE, DEFAULT_REUSE
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import Whole

MOST_REUSE = 100


class RestoreParameters(ListFilters):
    share = Whole(about="percent of the parts that a regional checkpoint may lack (default: 20)")
    reuse = Whole(about="how often in a row a part may be carried by an old snapshot (default: 3)")
    read_ms = Whole(about="milliseconds to open and read one small file (default: 10)")

    @property
    def regional(self) -> tuple[float, int]:
        """Both limits of a regional checkpoint."""
        share, reuse = (self.values.get(name) for name in ("share", "reuse"))
        failed_share = DEFAULT_FAILED_SHARE if share is None else min(share, 100) / 100
        return failed_share, DEFAULT_REUSE if reuse is None else min(reuse, MOST_REUSE)

    @property
    def milliseconds(self) -> float | None:
        """Within what any storage takes."""
        found = self.values.get("read_ms")
        return None if found is None else float(min(max(found, 1), 60_000))


def sliders(asked: RestoreParameters) -> list[dict[str, Any]]:
    """Both limits as inputs: the values that a slider stands on, and what they are called."""
    share, reuse = asked.regional
    found = []
    for name, label, value, values, unit in (
        ("share", gettext("Parts that may fail"), round(share * 100), (0, 1, 2, 5, 10, 20, 30, 50, 75, 100), " %"),
        ("reuse", gettext("Carried in a row"), reuse, (*range(11), 20, 50, 100), gettext(" times")),
    ):
        at = min(range(len(values)), key=lambda place: abs(values[place] - value))
        words = [f"{one}{unit}" for one in values]
        here = {"value": value, "word": f"{value}{unit}", "at": at, "last": len(values) - 1}
        found.append({"name": name, "label": label, "values": values, "words": words, **here})
    return found

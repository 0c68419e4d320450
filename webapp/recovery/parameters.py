"""What the restores of a job can be asked with."""

from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import Whole


class RestoreParameters(ListFilters):
    read_ms = Whole(about="milliseconds to open and read one small file (default: 10)")

    @property
    def milliseconds(self) -> float | None:
        """Within what any storage takes."""
        found = self.values.get("read_ms")
        return None if found is None else float(min(max(found, 1), 60_000))

"""What the starts of a job can be asked with: nothing that Flink reports says how large a job's jars are."""

from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import Whole

LINK_MBIT_PER_S = 10_000
_MOST_KB, _MOST_MBIT_PER_S = 10**9, 10**7


class StartParameters(ListFilters):
    jar_kb = Whole(about="kilobytes (1,000 bytes) of all jars of the job together; without it bytes are unknown")
    link_mbit = Whole(about="megabits a second that the JobManager's machine can send (default: 10000)")

    @property
    def jar_bytes(self) -> int | None:
        found = self.values.get("jar_kb")
        return None if found is None else min(max(found, 1), _MOST_KB) * 1_000

    @property
    def link_bytes_per_s(self) -> int:
        found = self.values.get("link_mbit") or LINK_MBIT_PER_S
        return min(max(found, 1), _MOST_MBIT_PER_S) * 125_000

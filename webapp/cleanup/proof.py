"""Checks the rows of an audit before they enter a plan. Repeats the audit's rules, since this is
cheap and a wrong row would cost a job its state.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from ingest.storage.layout import METADATA_NAME
from webapp.cleanup.entries import ORPHAN, ORPHAN_PLACES, SCHEMA, WASTE, WASTE_PLACES

Test = Callable[[pa.RecordBatch], pa.Array]


@dataclass(frozen=True)
class ProofRequirements:
    """``as_of`` is when the audit's listing began. ``roots``: URI of each root that may be cleaned
    → where Weir reads it.
    """

    as_of: datetime
    age_guard: timedelta
    verdicts: Sequence[str]
    roots: dict[str, str]

    @property
    def _as_of_ms(self) -> int:
        return int(self.as_of.timestamp() * 1000)

    def sift(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, dict[str, int]]:
        """Rows that may be planned, and how many were withheld for each reason."""
        is_candidate = pc.and_(
            pc.is_in(rows["verdict"], pa.array(list(self.verdicts), pa.string())),
            pc.is_in(rows["root"], pa.array(list(self.roots), pa.string())),
        )
        rows = self._with_age(rows.filter(is_candidate))
        withheld: dict[str, int] = {}
        for reason, test in self._tests.items():
            passed = pc.fill_null(test(rows), False)
            failed = rows.num_rows - (pc.sum(passed).as_py() or 0)
            if failed:
                withheld[reason] = failed
                rows = rows.filter(passed)
        return rows, withheld

    @property
    def _tests(self) -> dict[str, Test]:
        return {
            "size_or_time_unknown": lambda rows: pc.and_(
                pc.is_valid(rows["bytes"]), pc.is_valid(rows["age_ms"])
            ),
            "younger_than_the_guard": lambda rows: pc.greater_equal(
                rows["age_ms"], int(self.age_guard.total_seconds() * 1000)
            ),
            "outside_its_root": self._is_inside,
            "not_a_place_of_checkpoints": _is_flinks_place,
            "seen_unreferenced_once": self._was_unreferenced_before,
        }

    def _with_age(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        # Cast, because Arrow has no maximum of two instants with a zone.
        newest = pc.max_element_wise(
            rows["modified"].cast(pa.int64()),
            rows["first_seen_at"].cast(pa.int64()),
            skip_nulls=False,
        )
        age = pc.subtract(pa.scalar(self._as_of_ms, pa.int64()), newest)
        return pa.record_batch([*(rows[name] for name in rows.schema.names), age], schema=SCHEMA)

    def _is_inside(self, rows: pa.RecordBatch) -> pa.Array:
        """Whether both spellings are below the root, without empty or upward steps in
        ``listed_path``.
        """
        is_below = pa.repeat(False, rows.num_rows)
        for uri, read_at in self.roots.items():
            below = pc.and_(_below(rows["path"], uri), _below(rows["listed_path"], read_at))
            is_below = pc.or_(is_below, pc.and_(pc.equal(rows["root"], uri), below))
        steps = pc.replace_substring_regex(rows["listed_path"], r"^[A-Za-z0-9+.-]+://", "")
        has_bad_step = pc.match_substring_regex(steps, r"//|(^|/)\.{1,2}(/|$)")
        return pc.and_(is_below, pc.invert(has_bad_step))

    def _was_unreferenced_before(self, rows: pa.RecordBatch) -> pa.Array:
        """Whether an orphan was unreferenced in an earlier audit, too. Always true for waste, which
        has references.
        """
        before = pc.less(rows["unreferenced_since"].cast(pa.int64()), self._as_of_ms)
        return pc.or_(pc.equal(rows["verdict"], WASTE), pc.fill_null(before, False))


def is_metadata(rows: pa.RecordBatch | pa.Table) -> pa.Array:
    return pc.ends_with(rows["path"], f"/{METADATA_NAME}")


def _is_flinks_place(rows: pa.RecordBatch) -> pa.Array:
    """Whether the place is in the list for the verdict. A ``_metadata`` can only be waste."""
    is_orphan = pc.and_(
        pc.equal(rows["verdict"], ORPHAN), pc.is_in(rows["place"], pa.array(ORPHAN_PLACES))
    )
    is_waste = pc.and_(
        pc.equal(rows["verdict"], WASTE), pc.is_in(rows["place"], pa.array(WASTE_PLACES))
    )
    has_metadata_place = pc.equal(rows["place"], "metadata")
    return pc.and_(pc.or_(is_orphan, is_waste), pc.equal(is_metadata(rows), has_metadata_place))


def _below(paths: pa.Array, root: str) -> pa.Array:
    return pc.starts_with(paths, root.rstrip("/") + "/")

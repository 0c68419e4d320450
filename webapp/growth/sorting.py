"""Sort orders of the growth page. Each has an index; unknown values come last."""

from dataclasses import dataclass

from django.db import models
from django.db.models import F
from django.db.models.expressions import Combinable, RawSQL
from django.db.models.functions import Coalesce

from webapp.lib.keysets import KeysetColumn

FAR = 1e18


@dataclass(frozen=True)
class GrowthSort:
    """``unknown`` stands for NULL and sorts after all values."""

    name: str
    field: str
    unknown: float = -FAR
    descending: bool = True

    @property
    def key(self) -> Combinable:
        # Literal in the statement: SQLite does not find an index over an expression with
        # parameters. The number is our own.
        unknown = RawSQL(f"{self.unknown:.0e}", (), output_field=models.FloatField())  # noqa: S611
        return Coalesce(F(self.field), unknown)

    @property
    def keys(self) -> tuple[KeysetColumn, KeysetColumn]:
        return KeysetColumn("sort_key", self.descending, self.key), KeysetColumn(
            "id", self.descending
        )

    def index(self) -> models.Index:
        return models.Index(F("window_days"), self.key, F("id"), name=f"growth_by_{self.name}")


SORTS: dict[str, GrowthSort] = {
    sort.name: sort
    for sort in (
        GrowthSort("growth", "state_bytes_per_day"),
        GrowthSort("state", "state_bytes"),
        GrowthSort("uploaded", "uploaded_bytes"),
        GrowthSort("timeout", "days_to_timeout", FAR, descending=False),
    )
}

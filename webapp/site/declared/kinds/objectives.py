from collections.abc import Mapping
from functools import cached_property
from typing import Any

from django.utils import timezone

from spark_jobs.diagnosis.objective_samples import OBJECTIVE_KINDS
from webapp.growth.models import Objective
from webapp.growth.objectives import LEAST_TARGET, LONGEST_LIMIT_S, MOST_TARGET, set_objective
from webapp.lib.matchers import as_entered
from webapp.site.declared.kind import MATCHERS, NAME, Entry, Kind, matcher_texts, parsed_matchers


class Objectives(Kind):
    name = "objectives"
    columns = frozenset({"name", "kind", "target", "limit_ms", "matchers"})
    required = ("name", "kind", "target")

    @cached_property
    def properties(self) -> dict[str, dict[str, Any]]:
        return {
            "name": NAME,
            "kind": {"enum": [*OBJECTIVE_KINDS], "description": "what is measured"},
            "target": {
                "type": "number",
                "minimum": LEAST_TARGET * 100,
                "maximum": round(MOST_TARGET * 100, 5),
                "description": "percent that has to be good over 30 days",
            },
            "limit_s": {
                "type": "integer",
                "minimum": 1,
                "maximum": LONGEST_LIMIT_S,
                "description": "longest good age, of kinds recovery_point and freshness",
            },
            "matchers": {**MATCHERS, "default": []},
        }

    def rows(self) -> Any:
        return Objective.objects.order_by("name")

    def normalised(self, entry: Entry) -> Entry:
        if not OBJECTIVE_KINDS[entry["kind"]].has_limit:
            entry = {name: value for name, value in entry.items() if name != "limit_s"}
        matchers = matcher_texts(parsed_matchers(entry))
        return entry | {"target": float(entry["target"]), "matchers": matchers}

    def entry(self, row: Objective) -> Entry:
        return self.without_defaults(
            {
                "name": row.name,
                "kind": row.kind,
                "target": round(row.target * 100, 5),
                "limit_s": row.limit_ms // 1000 if row.limit_ms else None,
                "matchers": matcher_texts(as_entered(row.matchers)),
            }
        )

    def write(self, row: Any | None, entry: Entry, secrets: Mapping[str, str]) -> list[str]:
        values = {
            **{name: str(entry.get(name, "")) for name in ("name", "kind", "target", "limit_s")},
            "matchers": "\n".join(entry.get("matchers", ())),
        }
        set_objective(values, "files", timezone.now())
        return []

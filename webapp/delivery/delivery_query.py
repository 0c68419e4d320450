"""What the address of the deliveries page asks for, and the rows that answer it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from webapp.delivery.choices import DeliveryState
from webapp.delivery.models import Delivery
from webapp.delivery.querysets import DeliveryQuerySet
from webapp.lib.keysets import KeysetColumn
from webapp.lib.list_queries import asked_text

NEWEST_FIRST = (KeysetColumn("id", descending=True),)
NAMES = (
    "uid", "endpoint", "state", "kind", "status", "title", "group", "cluster", "notice_uid", "mail_to", "made_at", "next_attempt_at",
    "ended_at", "attempts", "last_status", "last_error", "replays", "replayed_at", "replayed_by",
)  # fmt: skip


@dataclass(frozen=True)
class DeliveryQuery:
    """Everything the address says; what it says wrongly is as if unsaid."""

    endpoint: int = 0
    state: str = ""
    cluster: str = ""
    alert: str = ""
    cursor: str = ""

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> "DeliveryQuery":
        endpoint, state = parameters.get("endpoint", ""), parameters.get("state", "")
        return cls(
            endpoint=int(endpoint) if endpoint.isascii() and endpoint.isdigit() and len(endpoint) < 18 else 0,
            state=state if state in DeliveryState.values else "",
            cluster=asked_text(parameters, "cluster"),
            alert=asked_text(parameters, "alert", 64),
            cursor=parameters.get("cursor", ""),
        )

    @property
    def is_narrowed(self) -> bool:
        return bool(self.endpoint or self.state or self.cluster or self.alert)

    def deliveries(self) -> DeliveryQuerySet:
        """In no order yet, without their payloads."""
        filters = {"endpoint": self.endpoint, "state": self.state, "cluster": self.cluster, "alerts__alert_uid": self.alert}
        wanted: dict[str, Any] = {name: value for name, value in filters.items() if value}
        found: DeliveryQuerySet = Delivery.objects.filter(**wanted).defer("payload").select_related("endpoint")
        return found

from collections.abc import Callable, Iterable
from datetime import datetime

from ingest.flink_rest.answers import Answer
from ingest.flink_rest.client import RestClient
from ingest.flink_rest.faults import KNOWN_WITHIN_S, NOT_YET, BadAnswer, Unanswered, lasting_text
from ingest.flink_rest.limits import Budget
from ingest.records import Skip

UNANSWERED_IN_A_ROW = 3

SKIPS_PER_CYCLE = 200


class RestSession:
    """``down``: why no more requests are sent, else ``None``. ``refused``: no process listened at
    the address. ``gone`` and ``not_yet``: path → reason; see ``get``.
    """

    def __init__(self, client: RestClient, at: Callable[[], datetime], budget: Budget) -> None:
        self.client, self.at, self.budget = client, at, budget
        self.skips: list[Skip] = []
        self.down: str | None = None
        self.refused = False
        self.answered = False
        self.gone: dict[str, str] = {}
        self.not_yet: dict[str, str] = {}
        self._unanswered = 0

    async def get(self, path: str, *, may_be_gone: bool = False) -> Answer | None:
        """``None`` if the request fails. The reason is in ``gone`` for an expected 404
        (``may_be_gone``), in ``not_yet`` if Flink cannot answer yet, else in a skip.
        """
        if self.down:
            return None
        try:
            body = await self.client.get(path)
        except BadAnswer as error:
            self._unanswered = 0
            if error.reason in ("tls", "refused_address") or (
                error.reason == "unauthorized" and not self.answered
            ):
                self.down = str(error)
            if may_be_gone and error.status == 404:
                self.gone[path] = error.reason
            elif error.reason in NOT_YET:
                self.not_yet[path] = error.reason
            else:
                self.skip(path, error.reason, str(error))
            return None
        except Unanswered as error:
            self._unanswered += 1
            if self._unanswered >= UNANSWERED_IN_A_ROW or not self.answered:
                self.down, self.refused = str(error), error.refused
            self.skip(path, error.reason, str(error))
            return None
        self.answered, self._unanswered = True, 0
        return Answer(path, self.at(), body)

    def skip_lasting(self, paths: Iterable[str], since_s: float) -> float:
        """Add a skip for each path that has been ``not_yet`` for too long. ``since_s``: since when
        a path has been ``not_yet`` (epoch s), 0 if none. Returns ``since_s`` for the next cycle.
        """
        not_yet_paths = [path for path in paths if path in self.not_yet]
        now_s = self.at().timestamp()
        since_s = (since_s or now_s) if not_yet_paths else 0
        if now_s - since_s >= KNOWN_WITHIN_S:
            for path in not_yet_paths:
                self.skip(path, "http_error", lasting_text(path, self.not_yet[path]))
        return since_s

    def skip(self, subject: str, reason: str, detail: str) -> None:
        if len(self.skips) < SKIPS_PER_CYCLE:
            self.skips.append(Skip(subject.partition("?")[0], reason, detail))
        elif len(self.skips) == SKIPS_PER_CYCLE:
            self.skips.append(
                Skip(
                    self.client.address.base,
                    "more",
                    f"More than {SKIPS_PER_CYCLE} inputs were skipped in this cycle.",
                )
            )

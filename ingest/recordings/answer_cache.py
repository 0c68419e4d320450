from dataclasses import dataclass, field

from ingest.flink_rest.answers import Answer

MOST_BYTES = 256 * 1024 * 1024
MOST_ANSWERS = 50_000


@dataclass(slots=True)
class AnswerCache:
    flink_version: str | None = None
    jobmanager_config: Answer | None = None
    ended: dict[str, str] = field(default_factory=dict)
    _answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    _held_bytes: int = 0

    def known(self, kind: str, job_id: str) -> Answer | None:
        return self._answers.get((kind, job_id))

    def keep(self, kind: str, job_id: str, answer: Answer) -> None:
        before = self._answers.pop((kind, job_id), None)
        self._held_bytes += answer.held_bytes - (before.held_bytes if before else 0)
        self._answers[kind, job_id] = answer
        while self._held_bytes > MOST_BYTES or len(self._answers) > MOST_ANSWERS:
            oldest = next(iter(self._answers))
            self._held_bytes -= self._answers.pop(oldest).held_bytes

"""An answer compared with the truth of its question, by nothing but what both say."""

import json
import re
from dataclasses import dataclass

from tests.bench.agents.causes import CAUSES
from tests.bench.agents.play import Answer, Play
from tests.bench.agents.questions import Question


@dataclass(frozen=True)
class Score:
    """``is_exact``: cause, vertex, subtask and host, and nothing of it guessed. ``is_guess``: it
    asked nothing, or names a vertex or a host that no tool told. ``helps``: its next step would end
    the trouble.
    """

    is_exact: bool
    is_guess: bool
    helps: bool
    calls: int


def score(question: Question, play: Play) -> Score:
    answer, calls = play.answer, len(play.told)
    if answer is None:
        return Score(is_exact=False, is_guess=False, helps=False, calls=calls)
    is_guess = not _was_told(answer, play)
    causes = {question.cause, question.or_cause} - {""}
    is_exact = not is_guess and answer.cause in causes and all(
        wanted in ("", None) or wanted == given
        for wanted, given in (
            (question.vertex, answer.vertex),
            (question.subtask, answer.subtask),
            (question.host, answer.host),
        )
    )  # fmt: skip
    helps = is_exact and _helps(answer)
    return Score(is_exact, is_guess, helps, calls)


def _helps(answer: Answer) -> bool:
    wanted = CAUSES[answer.cause].next_step
    return re.search(wanted, answer.next_step, re.IGNORECASE) is not None


def _was_told(answer: Answer, play: Play) -> bool:
    told = "\n".join(json.dumps(one.answer, ensure_ascii=False) for one in play.told)
    return bool(play.told) and all(name in told for name in (answer.vertex, answer.host) if name)

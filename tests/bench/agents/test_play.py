"""What the measure itself is held to: what is counted, what is exact, and that a guess is seen."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.bench.agents.causes import CAUSES, NOTHING
from tests.bench.agents.play import Answer, Call, Play, Steps, Task, Told, Tools, play
from tests.bench.agents.questions import QUESTIONS, Question
from tests.bench.agents.scoring import Score, score

QUESTION = Question("r", "slow_host", "enrich", 2, "tm-1", or_cause="slow_operator")
RIGHT = Answer("slow_host", "enrich", 2, "tm-1", "Compare the hosts.")


class Echo:
    """Tells what it is asked for."""

    described: list[dict[str, Any]] = []

    def call(self, name: object, arguments: object) -> tuple[dict[str, Any], bool]:
        return {"told": [name, arguments]}, False


def scored(answer: Answer | None, calls: int = 1, most_calls: int = 5) -> Score:
    def agent(task: Task, tools: Tools) -> Steps:
        for _ in range(calls):
            told = yield Call("hosts", "enrich runs on tm-1")
            assert told.answer == {"told": ["hosts", "enrich runs on tm-1"]}
        return answer

    return score(QUESTION, play(agent, Task("c"), Echo(), most_calls))


def test_a_right_answer_is_exact_and_its_calls_are_counted() -> None:
    assert scored(RIGHT, calls=3) == Score(is_exact=True, is_guess=False, helps=True, calls=3)


def test_another_cause_that_is_as_true_is_exact() -> None:
    assert scored(replace(RIGHT, cause="slow_operator")).is_exact


@pytest.mark.parametrize(
    "wrong",
    [{"cause": NOTHING}, {"vertex": "runs"}, {"subtask": 0}, {"subtask": None}, {"host": None}],
)
def test_an_answer_with_one_wrong_fact_is_not_exact(wrong: dict[str, Any]) -> None:
    assert scored(replace(RIGHT, **wrong)) == Score(False, False, False, 1)


def test_no_cause_is_exact_where_there_is_but_one() -> None:
    question = replace(QUESTION, or_cause="")
    ended = Play((Told({"told": ["enrich", "tm-1"]}),), replace(RIGHT, cause=""))
    assert not score(question, ended).is_exact


def test_a_next_step_that_does_not_help_is_seen() -> None:
    assert not scored(replace(RIGHT, next_step="Restart it.")).helps


@pytest.mark.parametrize(
    ("guess", "calls"), [(RIGHT, 0), (replace(RIGHT, host="tm-2"), 1), (Answer(NOTHING), 0)]
)
def test_what_was_answered_unasked_or_untold_is_a_guess_and_never_exact(
    guess: Answer, calls: int
) -> None:
    assert scored(guess, calls) == Score(False, True, False, calls)


def test_a_budget_of_calls_ends_the_play_without_an_answer() -> None:
    assert scored(RIGHT, calls=6, most_calls=5) == Score(False, False, False, 5)
    assert scored(RIGHT, calls=5, most_calls=5).is_exact


def test_no_answer_is_right_so_often_that_it_pays_to_always_give_it() -> None:
    truths = Counter((one.cause, one.vertex, one.subtask) for one in QUESTIONS)
    assert truths.most_common(1)[0][1] < 0.15 * len(QUESTIONS)


def test_every_cause_that_can_be_named_is_once_the_truth_and_no_other_is() -> None:
    assert {one.cause for one in QUESTIONS} == CAUSES.keys()
    assert {one.or_cause for one in QUESTIONS} <= {"", *CAUSES}

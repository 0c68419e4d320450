"""The scripted agents on recordings of a real Flink, by the tools as they are."""

from pathlib import Path

import pytest

from tests.bench.agents.play import Task, play
from tests.bench.agents.questions import QUESTIONS
from tests.bench.agents.raw_tools import RawTools
from tests.bench.agents.recorded import recorded
from tests.bench.agents.scoring import score
from tests.bench.agents.scripted import by_raw, by_weir
from tests.bench.agents.weir_tools import watched

DECLINES = next(one for one in QUESTIONS if one.recording == "recordings/1.20.5/E")
RESETS = next(one for one in QUESTIONS if one.recording.endswith("2.1.1/resetting-database"))
HEALTHY = next(one for one in QUESTIONS if one.recording == "recordings/1.20.5/A")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("question", [DECLINES, HEALTHY], ids=["declines", "healthy"])
def test_weirs_tools_tell_the_cause_subtask_host_and_next_step(question, home: Path) -> None:
    found = play(by_weir, Task("c"), watched(recorded(question.recording), "c"))
    scored = score(question, found)
    assert scored.is_exact and scored.helps, found.answer
    assert scored.calls <= 4


def test_what_is_said_in_so_many_words_is_found_without_weir() -> None:
    found = play(by_raw, Task("c"), RawTools(recorded(RESETS.recording)))
    assert score(RESETS, found).is_exact, found.answer

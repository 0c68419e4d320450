"""Stored English texts in Chinese: all that rules say of recordings, names unharmed, and nothing lost of what is not known."""

import re
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.template import Context, Template
from django.utils import translation
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.plain import finding_to_plain
from spark_jobs.diagnosis.samples import JobWindow
from tests.diagnosis.jobs import LIMITS
from tests.played import of_rule
from tests.windows import recorded, recorded_windows
from webapp.wording.filters import names_of
from webapp.wording.sentences import SENTENCES
from webapp.wording.translation import translated

HAN = re.compile("[\u4e00-\u9fff]")
ENGLISH = re.compile(r"[A-Za-z][a-z'-]*(?: [a-z][a-z'-]*){2,}")
"""Three words in a row: a sentence of ours that was left, or what somebody else said."""
OF_OTHERS = {
    "Simulated failure of the asynchronous part": "message of an exception in the recorded job",
    "could not flush to checkpoint storage": "the same exception",
    "Asynchronous task checkpoint failed": "reason that Flink gives, shown as it is to be searched for",
    "Exception at lab": "exception with the frame it arose in",
    "Connection reset by peer": "message of an exception",
}


@pytest.fixture
def chinese():
    with translation.override("zh-hans"):
        yield


def found(recording):
    rules = registry.rules_for(JobWindow)
    for window in recorded_windows(recording):
        for finding in registry.diagnose(window, LIMITS, only=rules).findings:
            yield SimpleNamespace(**finding_to_plain(finding))


def texts(finding):
    yield from (finding.title, finding.cause, finding.next_step)
    yield from (row["name"] for row in finding.evidence)


def notes(finding):
    yield from (row["note"] for row in finding.evidence if row.get("note"))


@pytest.mark.parametrize("recording", recorded())
def test_what_rules_say_of_a_recording_is_chinese_and_stays_english_in_english(recording, chinese):
    findings = list(found(recording))
    said = {(text, frozenset(names_of(finding))) for finding in findings for text in texts(finding)}
    noted = {(text, frozenset(names_of(finding))) for finding in findings for text in notes(finding)}
    assert [text for text, names in said if not HAN.search(translated(text, names))] == []
    left = {text: english for text, names in said | noted if (english := set(ENGLISH.findall(translated(text, names))) - OF_OTHERS.keys())}
    assert left == {}
    with translation.override("en"):
        assert all(translated(text, names) == text for text, names in said)


@pytest.mark.parametrize(
    ("played", "rule", "said"),
    [
        ("1.20.5/slow-restore", "start.slow_phase", "大部分在恢复状态并打开算子；"),
        ("1.20.5/lost-file", "restore.missing_file", "enrich (1) 在恢复状态时查找 "),
    ],
)
def test_a_cause_of_words_and_of_a_path_is_chinese_throughout(played, rule, said, chinese):
    finding = SimpleNamespace(**of_rule(played, rule)[0])
    shown = translated(finding.cause, names_of(finding))
    assert said in shown
    assert ENGLISH.findall(shown) == []


def test_every_rule_and_the_reason_of_every_threshold_is_chinese(chinese):
    rules = registry.all_rules().values()
    said = [text for rule in rules for text in (rule.title, rule.summary, *(one.reason for one in rule.thresholds))]
    assert [text for text in said if not HAN.search(translated(text))] == []


def test_a_name_that_reads_like_words_of_weir_comes_through_unharmed_and_escaped(chinese):
    name = "all 4 subtasks, busy and lost. Restart loop <b>"
    finding = SimpleNamespace(subject=name, job_name="orders", related=[], data={}, title=f"{name} back-pressures sink and 2 more")
    shown = Template("{{ finding.title|translated:finding }}").render(Context({"finding": finding}))
    assert shown == "all 4 subtasks, busy and lost. Restart loop &lt;b&gt; 反压 sink 及另外 2 个"


def test_an_exception_in_a_cause_stays_as_it_is(chinese):
    thrown = "java.io.IOException: all 4 subtasks are busy. No checkpoint completed"
    said = translated(f"The last try failed: {thrown}")
    assert said.endswith(thrown)
    assert HAN.search(said)


def test_a_name_alone_is_never_translated(chinese):
    finding = SimpleNamespace(subject="alignment", related=[], data={})
    assert Template("{{ finding.subject|translated:finding }}").render(Context({"finding": finding})) == "alignment"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_a_text_that_nothing_matches_stays_as_it_is(text):
    with translation.override("zh-hans"):
        shown = translated(f"zzz {text} qqq")
    assert shown == f"zzz {text} qqq" or HAN.search(shown)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([form for form in SENTENCES if "{" in form[0]]), st.integers(1000, 9999))
def test_no_value_of_a_sentence_is_lost(form, number):
    msgid, kinds = form
    values = iter(f"{number + at}" + (" s" if kind == "F" else "") for at, kind in enumerate(kinds))
    text = re.sub(r"\{\w+\}", lambda _gap: next(values), msgid)
    with translation.override("zh-hans"):
        shown = translated(text)
    assert sorted(re.findall(r"\d{4}", shown)) == sorted(re.findall(r"\d{4}", text))


def test_a_hostile_text_takes_no_longer_than_others(chinese):
    assert translated(("Checkpoint uploaded too much after savepoint " * 120)[:5_000])


def test_the_sentences_are_those_of_the_code():
    call_command("stored_sentences", check=True)


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("waits in a.Enrich.open, calling java.lang.Thread.sleep", "在 a.Enrich.open 中等待，调用 java.lang.Thread.sleep"),
        ("is in RocksDB in a.B.c, calling org.x.y, for a checkpoint", "位于 RocksDB，在 a.B.c 中，调用 org.x.y，用于检查点"),
    ],
)
def test_what_a_thread_does_is_said_with_its_methods_as_they_are_named(chinese, does, said):
    assert translated(does) == said


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            "s3://a/_metadata: at byte 1,234: expected the number of key groups of 0 or more, found -3",
            "s3://a/_metadata：第 1,234 字节处：应为不小于 0 的 key group 数，实为 -3",
        ),
        (
            "at byte 50: expected the id of the checkpoint (8 bytes), found the end of the file after 50 bytes",
            "第 50 字节处：应为检查点的 ID（8 字节），实为 50 字节后的文件结尾",
        ),
        (
            "/api/v1/services is answered by HTTP 410: that version is not kept any more",
            "/api/v1/services 得到应答 HTTP 410：该版本已不再保留",
        ),
        ("at byte 7: expected a state of a changelog, found none", "第 7 字节处：应为 changelog 的一个状态，实为无"),
        (
            "at byte 9: expected at most 10 objects and classes in each other, found more",
            "第 9 字节处：应为最多 10 层嵌套的对象和类，实为更多",
        ),
        ("The NameNode has no /flink/chk-1.", "NameNode 上没有 /flink/chk-1。"),
    ],
)
def test_what_is_wrong_inside_a_file_or_of_an_answer_is_said_with_its_place(chinese, wrong, said):
    assert translated(wrong) == said

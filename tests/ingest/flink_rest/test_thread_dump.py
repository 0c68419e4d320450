"""Thread dumps as real releases of Flink answer them, and as nobody should."""

import pytest

from ingest.errors import Skipped
from ingest.flink_rest.payloads.thread_dump import MOST_FRAMES, MOST_THREADS, thread_dump
from tests.thread_dumps import VERSIONS, dumps


@pytest.mark.parametrize("version", VERSIONS)
def test_every_thread_of_a_recorded_dump_is_read_with_its_state_and_frames(version):
    for body in dumps(version, "slow-sync") + dumps(version, "computing"):
        told = body["threadInfos"]
        read = thread_dump(body)
        assert [thread.name for thread in read] == [one["threadName"] for one in told]
        for thread, one in zip(read, told, strict=True):
            text = one["stringifiedThreadInfo"]
            assert f" Id={thread.number} {thread.state}" in text
            assert len(thread.frames) == text.count("\tat ")
            assert thread.is_cut == ("\t...\n" in text)
            assert thread.lock == (
                text.partition(" on ")[2].split()[0] if " on " in text.partition("\n")[0] else ""
            )


def info(name, text):
    return {"threadName": name, "stringifiedThreadInfo": text}


def test_a_lock_is_told_with_its_owner_however_threads_are_named():
    name = 'a" Id=1 BLOCKED on x owned by "b" Id=2'
    [thread] = thread_dump(
        {
            "threadInfos": [
                info(
                    name,
                    (
                        f'"{name}" daemon prio=5 Id=12 BLOCKED on java.lang.Object@1 owned by "o '
                        '"p" '
                        'Id=3" Id=4\n'
                    ),
                )
            ]
        }
    )
    assert (thread.name, thread.number, thread.state) == (name, 12, "BLOCKED")
    assert (thread.lock, thread.owner, thread.owner_number) == (
        "java.lang.Object@1",
        'o "p" Id=3',
        4,
    )


def test_frames_are_named_without_modules_and_with_their_lines():
    text = (
        '"t" Id=1 RUNNABLE\n\tat java.base@17.0.9/java.lang.Thread.sleep(Native Method)\n\tat '
        "app//a.B$C.run(B.java:7)\n\t...\n\n"
    )
    [thread] = thread_dump({"threadInfos": [info("t", text)]})
    assert (thread.frames, thread.is_cut) == (("java.lang.Thread.sleep", "a.B$C.run:7"), True)


def test_a_text_that_is_none_of_a_thread_is_left_out():
    assert thread_dump({"threadInfos": [info("t", "nothing"), info("u", "")]}) == ()


def test_stacks_are_bounded_and_dumps_of_too_many_threads_refused():
    text = '"t" Id=1 RUNNABLE\n' + "\tat a.B.c(B.java:1)\n" * (MOST_FRAMES + 1)
    [thread] = thread_dump({"threadInfos": [info("t", text)]})
    assert (len(thread.frames), thread.is_cut) == (MOST_FRAMES, True)
    with pytest.raises(Skipped, match="more than 5,000 threads"):
        thread_dump({"threadInfos": [info("t", "")] * (MOST_THREADS + 1)})


@pytest.mark.parametrize(
    "body", [[], {"threadInfos": 3}, {"threadInfos": [{"threadName": "t"}]}, {"threadInfos": ["t"]}]
)
def test_a_bad_shape_is_refused_with_its_place(body):
    with pytest.raises(Skipped):
        thread_dump(body)

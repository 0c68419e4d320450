"""The command line: one sentence for what is wrong, exit codes that mean something."""

import json
from pathlib import Path

import pytest

from ingest.__main__ import COMMANDS, main
from tests.ingest.flink_logs.wrapped import COMPLETED, ENVELOPES, HEADER, JSON_LAYOUTS, WITHOUT_DATE


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0 and f"python -m ingest {name}" in capsys.readouterr().out


def test_the_overview_names_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0 and main([]) == 2
    out = capsys.readouterr().out
    assert (
        all(f"  {name}" in out for name in COMMANDS) and "not part of this installation" not in out
    )


def test_an_unknown_command_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evnts"]) == 2
    error = capsys.readouterr().err
    assert "There is no command 'evnts'" in error and "Traceback" not in error


def test_asking_more_often_than_allowed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", "http://127.0.0.1:9", "--every", "1", "--out", str(tmp_path / "x")]) == 2
    assert "at least 3 s" in capsys.readouterr().err


def test_events_say_what_each_file_was_taken_for_and_why_one_was_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = f"{HEADER}{COMPLETED}\n{HEADER}Served something.\n".encode()
    files = {
        "0.log": ENVELOPES["cri"](log),
        "json.log": JSON_LAYOUTS["Amazon"](log),
        "both.log": log + ENVELOPES["docker compose"](log),
    }
    files |= {
        "nginx.log": b'10.0.0.1 "GET /?password=hunter22x HTTP/1.1" 200\n',
        "clock.log": WITHOUT_DATE["logback"](log),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    assert main(["events", "--json", f"{tmp_path}/*"]) == 1
    out, error = capsys.readouterr()
    assert [json.loads(line)["kind"] for line in out.splitlines()] == ["checkpoint_completed"] * 4
    told = {
        line.partition(": ")[0].rsplit("/", 1)[-1]: line.partition(": ")[2]
        for line in error.splitlines()
        if not line.startswith("skipped")
    }
    assert told["0.log"] == "2 records in Flink's own layout in Kubernetes (CRI); 1 events"
    assert told["json.log"] == "2 records as JSON; 1 events"
    assert (
        "in Flink's own layout, 2 records in Flink's own layout in docker compose; 2 events"
        in told["both.log"]
    )
    assert "it begins with '10.0.0.1" in told["nginx.log"] and "hunter22x" not in error
    assert "declare it with --date" in error
    assert main(["events", "--json", "--date", "2026-11-21", f"{tmp_path}/clock.log"]) == 0
    assert json.loads(capsys.readouterr().out)["ts"] == "2026-11-21T04:00:00.001Z"

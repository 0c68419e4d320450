"""The command line: one sentence for what is wrong, exit codes that mean something."""

from pathlib import Path

import pytest

from ingest.__main__ import COMMANDS, main


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0 and f"python -m ingest {name}" in capsys.readouterr().out


def test_the_overview_names_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0 and main([]) == 2
    out = capsys.readouterr().out
    assert all(f"  {name}" in out for name in COMMANDS)


def test_an_unknown_command_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evnts"]) == 2
    error = capsys.readouterr().err
    assert "There is no command 'evnts'" in error and "Traceback" not in error


def test_asking_more_often_than_allowed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", "http://127.0.0.1:9", "--every", "1", "--out", str(tmp_path / "x")]) == 2
    assert "at least 3 s" in capsys.readouterr().err

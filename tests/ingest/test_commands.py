"""The command line: one sentence for what is wrong, exit codes that mean something."""

import json
from pathlib import Path

import pytest

from ingest.__main__ import COMMANDS, main
from tests.ingest.flink_logs.wrapped import COMPLETED, ENVELOPES, HEADER, JSON_LAYOUTS, WITHOUT_DATE
from tests.ingest.flink_rest.serving import recorded
from tests.ingest.test_shard_collector import serving


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
    assert main(["colect"]) == 2
    error = capsys.readouterr().err
    assert "There is no command 'colect'" in error and "Traceback" not in error


def test_collect_reads_into_a_lake_and_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(recorded("1.20.5/G")) as (server,):
        arguments = [
            "collect",
            server.url,
            "--cluster",
            "lab",
            "--lake",
            str(tmp_path / "lake"),
            "--json",
        ]
        assert main(arguments) == 0
        assert main(arguments) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (
        first["reachable"]
        and first["flink_version"] == "1.20.5"
        and second["requests"] < first["requests"]
    )


def test_collect_takes_clusters_from_a_file_and_says_which_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "secret").write_text("canary\n")
    auth = {"scheme": "bearer", "secret_file": str(tmp_path / "secret")}
    with serving(recorded("1.20.5/B")) as (server,):
        clusters = [
            {"name": "a", "url": server.url, "auth": auth},
            {"name": "dead", "url": "http://127.0.0.1:9"},
        ]
        (tmp_path / "clusters.json").write_text(json.dumps(clusters))
        assert (
            main(
                [
                    "collect",
                    "--config",
                    str(tmp_path / "clusters.json"),
                    "--lake",
                    str(tmp_path / "lake"),
                ]
            )
            == 1
        )
        assert server.headers[0]["Authorization"] == "Bearer canary"
    out = capsys.readouterr().out
    assert (
        "a: Flink 1.20.5, 1 job," in out
        and "dead: not reachable. http://127.0.0.1:9 cannot be reached" in out
        and "canary" not in out
    )


@pytest.mark.parametrize(
    "document",
    ["", "{}", "[]", "[1]", '[{"url": "http://x"}]', ('[{"name": "a", "colour": '
                                                     '1}]'), '[{"name": "a"}, {"name": "a"}]',
     '[{"name": "a", "auth": {"scheme": "digest"}}]', '[{"name": "a", "tls": {"nonsense": 1}}]'],
)  # fmt: skip
def test_a_wrong_file_of_clusters_is_refused(
    document: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "clusters.json").write_text(document)
    assert (
        main(
            [
                "collect",
                "--config",
                str(tmp_path / "clusters.json"),
                "--lake",
                str(tmp_path / "lake"),
            ]
        )
        == 2
    )
    assert "clusters.json" in capsys.readouterr().err


def test_neither_url_nor_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect"]) == 2
    assert "either the URL" in capsys.readouterr().err


def test_asking_more_often_than_allowed_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", "http://127.0.0.1:9", "--every", "1", "--lake", str(tmp_path)]) == 2
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

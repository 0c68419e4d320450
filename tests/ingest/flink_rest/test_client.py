"""The client against a real socket: what it takes, what it refuses, and what it never tells."""

import asyncio
import gzip
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import IngestError, Refused
from ingest.flink_rest.client import Gate, RestClient
from ingest.flink_rest.faults import BadAnswer, Unanswered
from ingest.sources import Auth, Tls
from tests.ingest.flink_rest.certificates import make_certificates
from tests.ingest.flink_rest.serving import Answer, Reply, Server, told

SECRET = "s3cr3t-canary/+=word"


def ask(answer: Answer, path: str = "/overview", **options: Any) -> tuple[Any, Server]:
    """One request to a server that answers so; returns the answer, or the error, and the server."""

    async def conversation() -> tuple[Any, Server]:
        async with Server(answer) as server:
            options.setdefault("gate", Gate(same_path_pause_s=0.05))
            async with RestClient(server.url, **{"request_timeout_s": 1, **options}) as client:
                try:
                    return await client.get(path), server
                except IngestError as error:
                    return error, server

    return asyncio.run(conversation())


def always(reply: Reply) -> Answer:
    return lambda path, headers: reply


def test_it_returns_decoded_json() -> None:
    found, _ = ask(always(told({"taskmanagers": 3})))
    assert found == {"taskmanagers": 3}


def test_half_a_json_is_said_to_be_half_a_json() -> None:
    error, server = ask(always(Reply(b'{"jobs": [{"jid": "')))
    assert (
        isinstance(error, BadAnswer)
        and error.reason == "bad_json"
        and "an incomplete JSON" in str(error)
    )
    assert len(server.asked) == 1


def test_a_login_page_is_said_to_be_html() -> None:
    error, _ = ask(always(Reply(b"<!doctype html><html>Sign in</html>")))
    assert isinstance(error, BadAnswer) and "HTML instead of JSON" in str(error)


def test_deeply_nested_json_is_bad_json() -> None:
    error, _ = ask(always(Reply(b"[" * 100_000)))
    assert isinstance(error, BadAnswer) and error.reason == "bad_json"


def test_a_500_is_not_asked_again_and_nothing_of_what_it_says_is_repeated() -> None:
    errors = [
        "iam-role canary",
        "<Exception on server side:\njava.lang.NullPointerException\n\tat x.y(Z.java:1)\n>",
    ]
    error, server = ask(always(told({"errors": errors}, 500)))
    assert isinstance(error, BadAnswer) and (error.reason, error.status) == ("http_error", 500)
    assert "/overview answered HTTP 500; the log of the JobManager says why." in str(error)
    assert len(server.asked) == 1


def test_a_503_is_asked_again_until_it_answers() -> None:
    replies = iter(
        [
            told(
                {"errors": ["Service temporarily unavailable due to an ongoing leader election."]},
                503,
            ),
            told({"ok": 1}),
        ]
    )
    found, server = ask(lambda path, headers: next(replies))
    assert found == {"ok": 1}
    assert len(server.asked) == 2


def test_a_404_is_an_answer_of_its_own() -> None:
    error, _ = ask(
        always(told({"errors": ["Could not find checkpointing statistics for checkpoint 3."]}, 404))
    )
    assert isinstance(error, BadAnswer) and error.reason == "not_found"


def test_a_hang_is_cut_off_and_tried_no_longer_than_bounded() -> None:
    started = time.monotonic()
    error, server = ask(always(Reply(hang=True)), request_timeout_s=0.3)
    assert isinstance(error, Unanswered) and error.reason == "timeout"
    assert time.monotonic() - started < 3 and len(server.asked) <= 3


def test_an_answer_that_drips_in_is_cut_off_as_a_whole() -> None:
    started = time.monotonic()
    error, _ = ask(
        always(Reply(b"[" + b" " * 1000 + b"]", pause_s=0.2, pieces=100)), request_timeout_s=0.5
    )
    assert isinstance(error, Unanswered) and error.reason == "timeout"
    assert time.monotonic() - started < 5


def test_a_100_mb_answer_is_stopped_at_the_limit() -> None:
    error, server = ask(
        always(Reply(b"[" * 100_000_000, pieces=1000)),
        max_response_bytes=1024 * 1024,
        request_timeout_s=10,
    )
    assert isinstance(error, BadAnswer) and error.reason == "too_large" and "1 MiB" in str(error)
    assert server.sent_bytes < 20_000_000


def test_an_endless_answer_without_a_length_is_stopped_too() -> None:
    chunk = b"10000\r\n" + b"[" * 0x10000 + b"\r\n"
    reply = Reply(chunk * 400, headers={"transfer-encoding": "chunked"}, pieces=400)
    error, server = ask(
        lambda path, headers: reply, max_response_bytes=1024 * 1024, request_timeout_s=10
    )
    assert isinstance(error, IngestError)
    assert server.sent_bytes < 20_000_000


def test_a_gzip_bomb_is_stopped_at_the_limit() -> None:
    bomb = gzip.compress(b"[" * 50_000_000, 1)
    error, _ = ask(
        always(Reply(bomb, headers={"content-encoding": "gzip"})),
        max_response_bytes=1024 * 1024,
        request_timeout_s=10,
    )
    assert isinstance(error, BadAnswer) and error.reason == "too_large"


def test_a_gzip_answer_is_unpacked() -> None:
    found, server = ask(
        always(Reply(gzip.compress(b'{"a": 1}'), headers={"content-encoding": "gzip"}))
    )
    assert found == {"a": 1} and server.headers[0]["Accept-Encoding"] == "gzip"


def test_junk_that_calls_itself_gzip_is_a_bad_answer() -> None:
    error, _ = ask(always(Reply(b"no gzip at all", headers={"content-encoding": "gzip"})))
    assert isinstance(error, BadAnswer) and "cannot be decompressed" in str(error)


def test_an_answer_shorter_than_it_says_is_unanswered() -> None:
    error, _ = ask(always(Reply(b"{}", length=1000, close=True)))
    assert isinstance(error, Unanswered) and "before /overview was answered completely" in str(
        error
    )


def test_what_does_not_speak_http_is_a_clear_fault() -> None:
    async def conversation() -> object:
        async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"220 mail.example ESMTP\r\n")
            writer.close()

        async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with RestClient(
                f"http://127.0.0.1:{port}", gate=Gate(0.05), request_timeout_s=1
            ) as client:
                with pytest.raises(IngestError) as raised:
                    await client.get("/overview")
                return raised.value

    assert isinstance(asyncio.run(conversation()), BadAnswer | Unanswered)


def test_a_closed_port_is_unreachable() -> None:
    async def conversation() -> object:
        async with RestClient("http://127.0.0.1:9", gate=Gate(0.05), request_timeout_s=1) as client:
            with pytest.raises(Unanswered) as raised:
                await client.get("/overview")
            return raised.value

    error = asyncio.run(conversation())
    assert "http://127.0.0.1:9 cannot be reached" in str(error)


def test_a_redirect_to_another_host_is_not_followed() -> None:
    error, server = ask(
        always(Reply(status=302, headers={"location": "http://127.0.0.2:1/steal"})),
        auth=Auth("bearer", SECRET),
    )
    assert (
        isinstance(error, BadAnswer) and error.reason == "redirected" and "127.0.0.2" in str(error)
    )
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "location",
    [
        "https://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://127.0.0.1/",
        "//127.0.0.2:{port}/",
    ],
)
def test_a_redirect_to_another_origin_takes_no_credential_along(location: str) -> None:
    """Another scheme, host or port; to the address itself it would be followed."""

    def moved(path: str, headers: dict[str, str]) -> Reply:
        return Reply(
            status=307,
            headers={"location": location.format(port=headers["Host"].rpartition(":")[2])},
        )

    error, server = ask(moved, auth=Auth("bearer", SECRET))
    assert isinstance(error, BadAnswer) and error.reason == "redirected"
    assert len(server.asked) == 1


def test_a_redirect_within_the_address_is_followed() -> None:
    moved = Reply(status=307, headers={"location": "/v1/overview"})
    found, _ = ask(lambda path, headers: told({"path": path}) if path.startswith("/v1") else moved)
    assert found == {"path": "/v1/overview"}


def test_a_redirect_in_a_circle_ends() -> None:
    error, server = ask(always(Reply(status=302, headers={"location": "/overview"})))
    assert isinstance(error, BadAnswer) and len(server.asked) <= 5


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    found, _ = ask(always(told({"direct": True})))
    assert found == {"direct": True}


def test_at_most_two_requests_are_open_at_once() -> None:
    async def conversation() -> Server:
        async with (
            Server(always(Reply(b"{}", pause_s=0.02))) as server,
            RestClient(server.url, gate=Gate(0)) as client,
        ):
            await asyncio.gather(*(client.get(f"/jobs/{number}") for number in range(20)))
        return server

    assert asyncio.run(conversation()).most_at_once == 2


def test_the_same_path_waits_for_its_pause() -> None:
    async def conversation() -> float:
        async with (
            Server(always(told({}))) as server,
            RestClient(server.url, gate=Gate(0.3)) as client,
        ):
            started = time.monotonic()
            await asyncio.gather(
                client.get("/overview"), client.get("/overview"), client.get("/config")
            )
            return time.monotonic() - started

    assert asyncio.run(conversation()) >= 0.3


@pytest.mark.parametrize("auth", [Auth("basic", SECRET, "ops"), Auth("bearer", SECRET)])
def test_a_secret_that_the_server_echoes_is_not_repeated(
    auth: Auth, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    def echo(path: str, headers: dict[str, str]) -> Reply:
        return told({"errors": [f"Rejected {headers['Authorization']} and {SECRET}"]}, 401)

    error, server = ask(echo, auth=auth)
    assert isinstance(error, BadAnswer) and error.reason == "unauthorized"
    sent = server.headers[0]["Authorization"].split(" ")[1]
    shown = str(error) + repr(error) + caplog.text
    assert SECRET not in shown and sent not in shown


def test_a_password_in_the_url_signs_in_and_is_never_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def conversation() -> tuple[str, dict[str, str]]:
        async with Server(always(told({"errors": ["no"]}, 500))) as server:
            url = server.url.replace("http://", "http://ops:canary%2Fword@")
            async with RestClient(url) as client:
                with pytest.raises(BadAnswer) as raised:
                    await client.get("/overview")
                return f"{client!r} {raised.value} {client.address!r}", server.headers[0]

    shown, headers = asyncio.run(conversation())
    assert headers["Authorization"].startswith("Basic ")
    assert "canary" not in shown + caplog.text


def test_tls_with_own_authority_and_client_certificate(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    tls = Tls(
        ca_file=made.ca_file,
        client_cert_file=made.client_cert_file,
        client_key_file=made.client_key_file,
    )
    assert _over_tls(made.server, tls) == {"secure": True}


def test_an_unknown_authority_is_a_fault_that_names_certificates(tmp_path: Path) -> None:
    error = _over_tls(make_certificates(tmp_path).server, Tls())
    assert isinstance(error, BadAnswer) and error.reason == "tls" and "certificate" in str(error)


def test_verification_can_be_turned_off(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    tls = Tls(
        verify=False, client_cert_file=made.client_cert_file, client_key_file=made.client_key_file
    )
    assert _over_tls(made.server, tls) == {"secure": True}


def test_a_missing_client_certificate_does_not_sign_in(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    assert isinstance(_over_tls(made.server, Tls(ca_file=made.ca_file)), IngestError)


def _over_tls(server_side: Any, tls: Tls) -> Any:
    async def conversation() -> Any:
        secure = Server(always(told({"secure": True})), server_side)
        async with (
            secure as server,
            RestClient(server.url, tls=tls, gate=Gate(0.05), request_timeout_s=2) as client,
        ):
            try:
                return await client.get("/overview")
            except IngestError as error:
                return error

    return asyncio.run(conversation())


@pytest.mark.parametrize(
    "url",
    [
        "",
        "jobmanager:8081",
        "ftp://host",
        "file:///etc/passwd",
        "http://",
        "http://host:99999",
        "http://host:x",
    ],
)
def test_addresses_that_are_no_http_urls_are_refused(url: str) -> None:
    with pytest.raises(Refused):
        RestClient(url)


def test_a_ca_file_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    wrong = tmp_path / "ca.pem"
    wrong.write_text("nothing of the kind")

    async def conversation() -> None:
        async with RestClient("https://127.0.0.1:9", tls=Tls(ca_file=str(wrong))):
            pass

    with pytest.raises(Refused, match=r"ca\.pem"):
        asyncio.run(conversation())

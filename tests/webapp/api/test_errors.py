"""Errors of the API: one JSON form for all of them, whoever answers, and whatever was sent."""

import json
import time
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from tests.webapp.builders import person
from webapp.accounts.models import ApiToken
from webapp.findings.api.views import FindingViews
from webapp.lib.api.parsing import LARGEST_BODY_BYTES

pytestmark = pytest.mark.django_db
SILENCES = "/api/v1/silences/"
DEEP = "[" * 200_000
TOO_LARGE = json.dumps({"reason": "x" * LARGEST_BODY_BYTES})


def signed_in(*, operator: bool = True, csrf: bool = True) -> Client:
    client = Client(enforce_csrf_checks=csrf, raise_request_exception=False)
    client.force_login(person("olga" if operator else "vera", operator=operator))
    return client


@pytest.fixture
def writer() -> APIClient:
    client = APIClient(raise_request_exception=False)
    client.credentials(
        HTTP_AUTHORIZATION=(
            f"Bearer {ApiToken.objects.issue(person('robot', operator=True), 'test', 'write')[1]}"
        )
    )
    return client


def error_of(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.content[:500]
    assert answer.headers["Content-Type"] == "application/json"
    told = answer.json()
    assert set(told) == {"error"} and {"code", "message"} <= set(told["error"]) <= {
        "code",
        "message",
        "fields",
        "request_id",
    }
    assert told["error"]["code"] and told["error"]["message"]
    return dict(told["error"])


def test_brackets_without_end_are_no_json(writer: APIClient) -> None:
    assert (
        error_of(writer.post(SILENCES, DEEP, content_type="application/json"), 400)["code"]
        == "parse_error"
    )


@pytest.mark.parametrize("operator", [True, False])
def test_brackets_without_end_from_a_browser_without_its_csrf_token(operator: bool) -> None:
    answer = signed_in(operator=operator).post(SILENCES, DEEP, content_type="application/json")
    assert error_of(answer, 403)["code"] == "permission_denied"


def test_brackets_without_end_from_a_browser_with_its_csrf_token() -> None:
    answer = signed_in(csrf=False).post(SILENCES, DEEP, content_type="application/json")
    assert error_of(answer, 400)["code"] == "parse_error"


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe\x00", b"", b"{", b"[1e400]", b"[-1e999]", b"[NaN]", b'["\\ud800"]', (b'{"\\udfff": '
                                                                                       b'1}'), (b'{"a": '
                                                                                                b'[{"b": '
                                                                                               b'"\\ud83d"}]}'),
        b"9" * 5_000, b"\xef\xbb\xbf{}", b'{"a":' * 5_000,
    ],
)  # fmt: skip
def test_what_is_no_json_that_can_be_kept_is_refused(writer: APIClient, body: bytes) -> None:
    error_of(writer.post(SILENCES, body, content_type="application/json"), 400)


def test_pairs_of_halves_are_one_character(writer: APIClient) -> None:
    told = (
        b'{"matchers": [{"label": "job", "operator": "=", "value": "a"}], "reason": '
        b'"\\ud83e\\udd84", "ends_at": "2099-01-01T00:00:00Z"}'
    )
    answer = writer.post(SILENCES, told, content_type="application/json")
    assert answer.status_code == 400 and "ends_at" not in answer.json()["error"].get("fields", {})
    assert "days" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/x-www-form-urlencoded", "text/plain"]
)
def test_a_large_body_is_refused_by_token_and_by_session(
    writer: APIClient, content_type: str
) -> None:
    for client in (writer, signed_in(csrf=False)):
        error_of(
            client.post(SILENCES, TOO_LARGE, content_type=content_type),
            413 if content_type == "application/json" else 415,
        )


def test_a_body_that_is_just_small_enough_is_read(writer: APIClient) -> None:
    body = json.dumps({"reason": "x" * (LARGEST_BODY_BYTES - 20)})
    assert (
        "reason"
        in error_of(writer.post(SILENCES, body, content_type="application/json"), 400)["fields"]
    )


@pytest.mark.parametrize(
    "path",
    [
        "/api/",
        "/api/v2/jobs/",
        "/api/v1/nothing",
        "/api/v1/jobs/%00/",
        "/api/v1/docs/x",
        "/api/v1/silences/0/",
    ],
)
@pytest.mark.parametrize("method", ["get", "post", "put", "delete", "patch"])
def test_what_is_not_there_is_said_as_json_whatever_is_asked(path: str, method: str) -> None:
    answer = getattr(signed_in(), method)(path)
    error_of(answer, answer.status_code)
    assert answer.status_code in (403, 404, 405)


def test_a_method_that_is_not_allowed_names_those_that_are() -> None:
    answer = signed_in(csrf=False).post("/api/v1/jobs/")
    assert error_of(answer, 405)["code"] == "method_not_allowed"
    assert "GET" in answer.headers["Allow"]


@pytest.mark.parametrize("path", [SILENCES])
def test_a_write_without_csrf_token_is_refused_as_json(path: str) -> None:
    error_of(signed_in().post(path, {}, content_type="application/json"), 403)


def test_a_host_that_is_not_ours_is_refused_as_json() -> None:
    error_of(
        Client(raise_request_exception=False).get(
            "/api/v1/jobs/", headers={"Host": "evil.example"}
        ),
        400,
    )


def test_a_bug_is_answered_as_json_without_what_it_was(
    writer: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Any) -> Any:
        raise RuntimeError("hunter2")

    monkeypatch.setattr(FindingViews, "get_queryset", broken)
    answer = writer.get("/api/v1/findings/")
    assert "hunter2" not in answer.content.decode() and error_of(answer, 500)["code"] == "error"


def test_pages_still_answer_as_pages() -> None:
    answer = signed_in().get("/nothing")
    assert answer.status_code == 404 and answer.headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    ("path", "name", "part"),
    [
        (SILENCES, "matchers", {}),
        ("/api/v1/reports/", "jobs", {}),
        ("/api/v1/cleanup-plans/", "roots", "s3://bucket/a"),
    ],
)
def test_a_list_of_too_many_is_refused_before_it_is_read(
    writer: APIClient, path: str, name: str, part: Any
) -> None:
    """Each field of a body that is a list has to be one of ``BoundedList``."""
    writer.get(path)  # all addresses are loaded with the first
    began_s = time.process_time()
    error = error_of(writer.post(path, {name: [part] * 99_000}, format="json"), 400)
    assert time.process_time() - began_s < 1
    assert set(error["fields"]) >= {name}
    assert "no more than" in error["fields"][name][0]

"""Each format fits what its receiver documents, whatever the names are, and says the same story."""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from email.header import decode_header, make_header
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.delivery import published
from tests.webapp.delivery.builders import T0, alert, notice
from webapp.delivery.choices import FormatName
from webapp.delivery.formats.base import Addressee, Mail, Outgoing
from webapp.delivery.formats.registry import FORMATS
from webapp.delivery.mail import message
from webapp.delivery.notices import Notice, NoticeAlert
from webapp.site.documentation.places import PAGES

AT = T0 + timedelta(seconds=40)
SCHEMAS: dict[str, Any] = {
    "weir": json.loads((PAGES / "reference" / "notice.schema.json").read_text()),
    "slack": published.SLACK,
    "pagerduty": published.PAGERDUTY,
    "feishu": published.FEISHU,
    "dingtalk": published.DINGTALK,
    "teams": published.TEAMS,
    "discord": published.DISCORD,
    "telegram": published.TELEGRAM,
    "jsm": published.JSM,
    "incidentio": published.INCIDENTIO,
}
HOSTILE = [
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "x" * 5_000,
    "\u202egnp.exe\u202c",
    "<!channel> <@U123> @all <at id=all></at>",
    "@everyone <@&7> <at>olga@example.org</at>",
    "[click](https://evil.example.org) ![x](https://evil.example.org/p.png)",
    "a\r\nBcc: victim@example.org\r\n\r\nbody",
    "nul\x00 and half \ud83d pair",
    "界" * 3_000,
    "😀" * 3_000,
    '"' * 3_000,
    "*_`~|>#",
    "",
]


def outgoing(name: str, told: Notice, at: datetime = AT, **fields: Any) -> Outgoing:
    to = Addressee(
        **{
            "url": "https://receiver.example.org/hook?key=k&chat_id=-1001",
            "message_id": "msg_1",
            "credential": "s3cret",
            **fields,
        }
    )
    found = FORMATS[name].render(told, to, at)
    assert isinstance(found, Outgoing)
    return found


def document(name: str, told: Notice, at: datetime = AT) -> Any:
    return json.loads(outgoing(name, told, at).body)


def mail(told: Notice) -> Mail:
    found = FORMATS["email"].render(
        told, Addressee("", "msg_1", emails=("a@example.org", "b@example.org")), AT
    )
    assert isinstance(found, Mail)
    return found


def hostile(text: str, count: int = 3) -> Notice:
    one = {
        "job_name": text,
        "subject": text,
        "title": text,
        "cause": text,
        "next_step": text,
        "labels": {text[:80] or "x": text},
    }
    evidence = ({"name": text, "value": text, "unit": text},)
    alerts = [
        alert(**one, evidence=evidence, muted=(text,), muted_count=1, acknowledged_by=text)
        for _ in range(count)
    ]
    return notice(*alerts, group=f"prod-eu/{text}")


@pytest.mark.parametrize(
    ("value", "unit", "threshold", "comparison", "text"),
    [
        (0.9465, "ratio", 0.5, ">=", "measured: 95 % ≥ 50 %"),
        (7, "count", 1, ">=", "measured: 7 ≥ 1"),
        (12_170, "ms", 12_000, ">", "measured: 12.170 s > 12 s"),
        (1000, "count", 1, "<=", "measured: 1,000 not ≤ 1"),
    ],
)
def test_figures_for_people_have_the_texts_of_pages(
    value: float, unit: str, threshold: float, comparison: str, text: str
) -> None:
    figure = {"name": "measured", "value": value, "unit": unit}
    compared = {"threshold": threshold, "comparison": comparison}
    told = notice(alert(evidence=(figure | compared,)))
    assert f"- {text}\n" in mail(told).text
    raw = document("weir", told)["data"]["alerts"][0]["evidence"][0]
    assert (raw["value"], raw["threshold"]) == (value, threshold)


def test_an_alert_is_not_its_own_cause() -> None:
    title = "flink-tm-2 lost"
    itself, other = (
        mail(notice(alert(title=title, incident_title=cause))).text for cause in (title, "other")
    )
    assert "It follows from" in other and "It follows from" not in itself


def test_every_format_can_be_chosen_and_is_documented() -> None:
    assert set(FORMATS) == set(FormatName.values), (
        "name it in FormatName (webapp/delivery/choices.py), then `manage.py makemigrations "
        "delivery`"
    )
    table = (
        (PAGES / "alerts.md")
        .read_text()
        .partition("| format | what it is |\n")[2]
        .partition("\n\n")[0]
    )
    named = {
        name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert set(FORMATS) == named, (
        "name it in the table of formats in webapp/site/docs/pages/alerts.md"
    )


def test_every_format_of_webhooks_has_its_published_schema_and_is_tried_by_what_follows() -> None:
    assert set(SCHEMAS) == set(FORMATS) - {"email"}


def test_the_schema_of_notices_describes_each_field() -> None:
    of_notice = SCHEMAS["weir"]["properties"]["data"]["properties"]
    assert of_notice.keys() == Notice.__dataclass_fields__.keys()
    of_alert = of_notice["alerts"]["items"]["properties"]
    assert of_alert.keys() == NoticeAlert.__dataclass_fields__.keys()


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("kind", ["firing", "changed", "resolved", "repeat", "test"])
def test_every_kind_of_notice_fits_the_published_schema(name: str, kind: str) -> None:
    told = notice(
        alert(status="resolved" if kind == "resolved" else "firing"),
        alert(status="resolved"),
        kind=kind,
    )
    jsonschema.Draft202012Validator(
        SCHEMAS[name], format_checker=jsonschema.FormatChecker()
    ).validate(document(name, told))


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_name_holds_the_request_fits_schema_and_size(name: str, text: str) -> None:
    told = Notice.from_json(hostile(text, count=60).to_json().replace("\\u0000", "\\ufffd"))
    found = outgoing(name, told)
    jsonschema.Draft202012Validator(SCHEMAS[name]).validate(json.loads(found.body))
    assert len(found.body) <= published.MOST_BYTES.get(name, 10 << 20)
    assert not any("\n" in value or "\r" in value for value in found.headers.values())


@given(st.text(max_size=3_000), st.integers(1, 20))
def test_no_text_breaks_a_format_of_counted_bytes(text: str, count: int) -> None:
    told = hostile(text, count)
    assert len(outgoing("feishu", told).body) <= 20_000
    assert len(outgoing("dingtalk", told).body) <= 20_000
    assert len(outgoing("teams", told).body) <= 21_000


@pytest.mark.parametrize("text", HOSTILE)
def test_where_letters_may_be_counted_in_utf_16_the_texts_fit_all_the_same(text: str) -> None:
    told = hostile(text, count=60)
    description = document("discord", told)["embeds"][0]["description"]
    for written in (description, document("telegram", told)["text"]):
        assert len(written.encode("utf-16-le")) <= 2 * 4_096


def test_slack_mentions_nobody_and_links_nowhere_because_of_a_name() -> None:
    for text in HOSTILE:
        body = outgoing("slack", hostile(text)).body.decode()
        for block in json.loads(body)["blocks"]:
            told = block.get("text", {}).get("text", "") if block["type"] == "section" else ""
            assert "<!" not in told
            assert "<@" not in told
            assert all(part.startswith("https://weir.example.org/") for part in told.split("<")[1:])


def in_dingtalk(told: Notice) -> str:
    return str(document("dingtalk", told)["markdown"]["text"])


def in_teams(told: Notice) -> str:
    title, text = document("teams", told)["attachments"][0]["content"]["body"]
    assert not set(title["text"]) & set("<>[]*`")
    return str(text["text"])


def in_incidentio(told: Notice) -> str:
    return str(document("incidentio", told)["description"])


@pytest.mark.parametrize("written", [in_dingtalk, in_teams, in_incidentio])
def test_formats_of_markdown_load_no_picture_and_link_only_to_weir(
    written: Callable[[Notice], str],
) -> None:
    for text in HOSTILE:
        content = written(hostile(text))
        assert "![" not in content
        assert "<" not in content
        assert all(part.startswith("(https://weir.example.org/") for part in content.split("]")[1:])


def test_discord_mentions_nobody_and_links_only_to_weir() -> None:
    for text in HOSTILE:
        found = document("discord", hostile(text))
        assert found["allowed_mentions"] == {"parse": []}
        for written in (found["content"], found["embeds"][0]["description"]):
            bare = re.sub(r"\\.", "", written)
            assert not set(bare) & set("@<`~|#")
            assert all(
                part.startswith("(https://weir.example.org/") for part in bare.split("]")[1:]
            )


def test_telegram_mentions_nobody() -> None:
    for text in HOSTILE:
        found = document("telegram", hostile(text))
        assert "@" not in found["text"]
        assert "parse_mode" not in found


def test_alerts_of_jira_contain_no_html() -> None:
    for text in HOSTILE:
        for status in ("firing", "resolved"):
            told = notice(alert(title=text, job_name=text, cause=text, status=status))
            found = document("jsm", told)
            assert "<" not in "".join(
                found.get(name, "") for name in ("message", "description", "note")
            )


def test_feishu_shows_plain_text_only() -> None:
    tags = json.dumps(document("feishu", hostile("<at id=all></at>"))["card"])
    assert '"lark_md"' not in tags


def test_what_was_cut_says_so() -> None:
    assert "(cut)" in document("slack", hostile("x" * 5_000))["blocks"][0]["text"]["text"]


def test_the_count_of_what_is_not_shown_includes_what_the_notice_had_no_room_for() -> None:
    told = notice(*(alert() for _ in range(100)), alerts_total=1_000, firing_total=1_000)
    assert "990" in json.dumps(document("slack", told))
    assert document("pagerduty", told)["payload"]["custom_details"]["not_listed"] == 990


def test_pagerduty_has_one_incident_a_group() -> None:
    first = document("pagerduty", notice(alert()))
    last = document("pagerduty", notice(alert(status="resolved")))
    assert (first["event_action"], last["event_action"]) == ("trigger", "resolve")
    assert first["dedup_key"] == last["dedup_key"]
    assert (
        document("pagerduty", hostile("x" * 5_000))["dedup_key"]
        != document("pagerduty", hostile("x" * 4_999))["dedup_key"]
    )


def test_jira_has_one_alert_a_group_which_is_closed_by_its_alias() -> None:
    first = outgoing("jsm", notice(alert()), url="https://jsm.example.org/v2/alerts")
    last = outgoing(
        "jsm", notice(alert(status="resolved")), url="https://jsm.example.org/v2/alerts/"
    )
    alias = json.loads(first.body)["alias"]
    assert first.url == "https://jsm.example.org/v2/alerts"
    assert last.url == f"{first.url}/{alias}/close?identifierType=alias"
    jsonschema.validate(json.loads(first.body), published.JSM_CREATE)
    jsonschema.validate(json.loads(last.body), published.JSM_CLOSE)
    for text in ("x/y" * 2_000, "界/?#"):
        assert re.fullmatch(r"[a-z0-9-]{1,512}", document("jsm", hostile(text))["alias"])


def test_incidentio_has_one_alert_a_group() -> None:
    first = document("incidentio", notice(alert()))
    last = document("incidentio", notice(alert(status="resolved")))
    assert (first["status"], last["status"]) == ("firing", "resolved")
    assert first["deduplication_key"] == last["deduplication_key"]
    other = document("incidentio", notice(alert(family="restart")))
    assert other["deduplication_key"] != first["deduplication_key"]


def test_alert_services_can_route_by_the_labels_of_a_job() -> None:
    told = notice(alert(labels={"team": "payments", "family": "another"}))
    for facts in (document("jsm", told)["details"], document("incidentio", told)["metadata"]):
        assert (facts["team"], facts["family"]) == ("payments", "checkpoint")
    many = {f"label {number}": "x" * 5_000 for number in range(100)}
    details = document("jsm", notice(alert(labels=many)))["details"]
    assert sum(len(name) + len(value) for name, value in details.items()) <= 8_000


@pytest.mark.parametrize(("severity", "priority"), [("critical", "P1"), ("info", "P5")])
def test_the_priority_in_jira_follows_from_the_worst_severity(severity: str, priority: str) -> None:
    told = notice(alert(severity="info"), alert(severity=severity), alert(status="resolved"))
    assert document("jsm", told)["priority"] == priority


def test_pagerduty_shows_the_worst_severity() -> None:
    assert (
        document("pagerduty", notice(alert(severity="info"), alert(severity="warning")))["payload"][
            "severity"
        ]
        == "warning"
    )


def test_feishu_is_signed_with_timestamp_and_key() -> None:
    found = document("feishu", notice())
    key = f"{found['timestamp']}\ns3cret".encode()
    assert base64.b64decode(found["sign"]) == hmac.new(key, b"", hashlib.sha256).digest()


def test_dingtalk_is_signed_in_the_address() -> None:
    query = parse_qs(urlsplit(outgoing("dingtalk", notice()).url).query)
    signed = f"{query['timestamp'][0]}\ns3cret".encode()
    assert (
        base64.b64decode(query["sign"][0]) == hmac.new(b"s3cret", signed, hashlib.sha256).digest()
    )
    assert query["key"] == ["k"]


@pytest.mark.parametrize(
    ("name", "body", "taken"),
    [
        ("feishu", b'{"code": 0, "msg": "success"}', True),
        ("feishu", b'{"StatusCode": 0, "StatusMessage": "success"}', True),
        ("feishu", b'{"code": 19021, "msg": "sign match fail"}', False),
        ("dingtalk", b'{"errcode": 0, "errmsg": "ok"}', True),
        ("dingtalk", b'{"errcode": 310000, "errmsg": "keywords not in content"}', False),
        ("slack", b"ok", True),
        ("teams", b"", True),
        ("telegram", b'{"ok": true, "result": {"message_id": 42}}', True),
        ("telegram", b'{"ok": false, "error_code": 400, "description": "chat not found"}', False),
        ("telegram", b"ok", False),
        ("dingtalk", b"[" * 60_000, False),
    ],
)
def test_answers_are_read_as_documented(name: str, body: bytes, taken: bool) -> None:
    assert (FORMATS[name].refused(body) == "") is taken


@pytest.mark.parametrize("text", HOSTILE)
def test_a_mail_is_one_mail_whatever_a_name_holds(text: str) -> None:
    built = message(mail(hostile(text))).message()
    raw = built.as_bytes()
    assert [name for name in built if name.lower() in ("bcc", "cc")] == []
    assert built["To"] == "a@example.org, b@example.org"
    assert len(str(make_header(decode_header(built["Subject"])))) <= 200
    assert len(raw) < 1 << 20


def test_a_mail_says_what_happened_why_and_what_to_do() -> None:
    text = mail(notice()).text
    for word in (
        "Checkpoints of orders are declined",
        "ran out of disk",
        "Free disk space",
        "prod-eu",
        "986",
    ):
        assert word in text


def test_a_notice_reads_the_same_after_it_was_kept_as_json() -> None:
    told = notice(alert(), alert(status="resolved", muted=("a",), labels={"team": "x"}))
    assert Notice.from_json(told.to_json()) == told

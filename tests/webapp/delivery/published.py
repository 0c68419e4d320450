"""What the receivers' documentation says of their requests, as JSON schemas: fields, kinds,
enumerations, lengths.
"""

from typing import Any


def _text(most: int | None = None) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, **({"maxLength": most} if most else {})}


def _object(required: list[str], closed: bool = True, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "additionalProperties": not closed,
        "properties": properties,
    }


_LABELS = {
    "type": "object",
    "propertyNames": {"pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"},
    "additionalProperties": {"type": "string"},
}
_DATE = {"type": "string", "format": "date-time"}


_PLAIN_TEXT = _object(
    ["type", "text"], type={"const": "plain_text"}, text=_text(3000), emoji={"type": "boolean"}
)
SLACK = _object(
    ["text", "blocks"],
    text=_text(40_000),
    unfurl_links={"type": "boolean"},
    unfurl_media={"type": "boolean"},
    blocks={
        "type": "array",
        "maxItems": 50,
        "items": {
            "oneOf": [
                _object(
                    ["type", "text"],
                    type={"const": "header"},
                    text={
                        **_PLAIN_TEXT,
                        "properties": {**_PLAIN_TEXT["properties"], "text": _text(150)},
                    },
                ),
                _object(
                    ["type", "text"],
                    type={"const": "section"},
                    text=_object(
                        ["type", "text"],
                        type={"const": "mrkdwn"},
                        text=_text(3000),
                        verbatim={"type": "boolean"},
                    ),
                ),
                _object(
                    ["type", "elements"],
                    type={"const": "context"},
                    elements={"type": "array", "maxItems": 10, "items": _PLAIN_TEXT},
                ),
            ]
        },
    },
)

_LINK = _object(["href"], href={"type": "string", "format": "uri"}, text={"type": "string"})
PAGERDUTY = {
    **_object(
        ["routing_key", "event_action"],
        routing_key=_text(),
        event_action={"enum": ["trigger", "acknowledge", "resolve"]},
        dedup_key=_text(255),
        client={"type": "string"},
        client_url={"type": "string", "format": "uri"},
        links={"type": "array", "items": _LINK},
        payload=_object(
            ["summary", "source", "severity"],
            summary=_text(1024),
            source=_text(),
            severity={"enum": ["critical", "error", "warning", "info"]},
            timestamp=_DATE,
            component={"type": "string"},
            group={"type": "string"},
            custom_details={"type": "object"},
            **{"class": {"type": "string"}},
        ),
    ),
    "if": {"properties": {"event_action": {"const": "trigger"}}},
    "then": {"required": ["payload"]},
    "else": {"required": ["dedup_key"]},
}

_CARD_TEXT = _object(["tag", "content"], tag={"const": "plain_text"}, content=_text())
FEISHU = _object(
    ["msg_type", "card"],
    timestamp={"type": "string", "pattern": "^[0-9]{10}$"},
    sign=_text(),
    msg_type={"const": "interactive"},
    card=_object(
        ["header", "elements"],
        config=_object([], wide_screen_mode={"type": "boolean"}),
        header=_object(
            ["title"], title=_CARD_TEXT, template={"enum": ["blue", "green", "orange", "red"]}
        ),
        elements={
            "type": "array",
            "items": {
                "oneOf": [
                    _object(["tag", "text"], tag={"const": "div"}, text=_CARD_TEXT),
                    _object(
                        ["tag", "actions"],
                        tag={"const": "action"},
                        actions={
                            "type": "array",
                            "items": _object(
                                ["tag", "text"],
                                tag={"const": "button"},
                                text=_CARD_TEXT,
                                url={"type": "string", "format": "uri"},
                                type={"enum": ["default", "primary", "danger"]},
                            ),
                        },
                    ),
                ]
            },
        },
    ),
)

DINGTALK = _object(
    ["msgtype", "markdown"],
    msgtype={"const": "markdown"},
    markdown=_object(["title", "text"], title=_text(), text=_text()),
    at=_object([], isAtAll={"type": "boolean"}, atMobiles={"type": "array"}),
)

_TEXT_BLOCK = _object(
    ["type", "text"],
    type={"const": "TextBlock"},
    text=_text(),
    wrap={"type": "boolean"},
    size={"enum": ["small", "default", "medium", "large", "extraLarge"]},
    weight={"enum": ["lighter", "default", "bolder"]},
    color={"enum": ["default", "dark", "light", "accent", "good", "warning", "attention"]},
)
_ADAPTIVE_CARD = _object(
    ["type", "version", "body"],
    type={"const": "AdaptiveCard"},
    version={"pattern": "^1[.][0-5]$"},
    body={"type": "array", "minItems": 1, "items": _TEXT_BLOCK},
    **{"$schema": {"const": "http://adaptivecards.io/schemas/adaptive-card.json"}},
)
TEAMS = _object(
    ["type", "attachments"],
    type={"const": "message"},
    attachments={
        "type": "array",
        "minItems": 1,
        "maxItems": 1,
        "items": _object(
            ["contentType", "content"],
            contentType={"const": "application/vnd.microsoft.card.adaptive"},
            contentUrl={"type": "null"},
            content=_ADAPTIVE_CARD,
        ),
    },
)

DISCORD = _object(
    ["content", "embeds", "allowed_mentions"],
    content=_text(2_000),
    embeds={
        "type": "array",
        "minItems": 1,
        "maxItems": 10,
        "items": _object(
            ["description"],
            description=_text(4_096),
            color={"type": "integer", "minimum": 0, "maximum": 0xFFFFFF},
            timestamp=_DATE,
        ),
    },
    allowed_mentions=_object(["parse"], parse={"const": []}),
)

TELEGRAM = _object(
    ["chat_id", "text"],
    chat_id={"type": ["string", "integer"], "pattern": "^(-?[0-9]+|@[A-Za-z0-9_]+)$"},
    message_thread_id={"type": "integer"},
    text=_text(4_096),
    link_preview_options=_object([], is_disabled={"type": "boolean"}),
)

JSM_CREATE = _object(
    ["message"],
    message=_text(130),
    alias=_text(512),
    description={"type": "string", "maxLength": 15_000},
    tags={"type": "array", "maxItems": 20, "items": _text(50)},
    details={"type": "object", "additionalProperties": {"type": "string"}},
    entity={"type": "string", "maxLength": 512},
    source={"type": "string", "maxLength": 100},
    priority={"enum": ["P1", "P2", "P3", "P4", "P5"]},
)
JSM_CLOSE = _object([], source={"type": "string", "maxLength": 100}, note=_text(25_000))
JSM = {"oneOf": [JSM_CREATE, JSM_CLOSE]}

INCIDENTIO = _object(
    ["title", "status", "deduplication_key"],
    title=_text(),
    status={"enum": ["firing", "resolved"]},
    deduplication_key=_text(),
    description={"type": "string"},
    metadata={"type": "object"},
    source_url={"type": "string", "format": "uri"},
)


MOST_BYTES = {
    "pagerduty": 512 << 10,
    "feishu": 20_000,
    "dingtalk": 20_000,
    "slack": 200_000,
    "teams": 21_000,
    "incidentio": 512 << 10,
}

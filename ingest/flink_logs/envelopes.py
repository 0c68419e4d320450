import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_STAMP = (
    rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
    rb"(?:Z|[+-][0-9]{2}:?[0-9]{2})"
)
_HOST_AND_TAG = rb"(?P<host>[A-Za-z0-9._:-]{1,255}+) (?P<tag>[^\[\]:\s]{1,255}+)(?:\[[0-9]+\])?: ?"
COLOURS = re.compile(rb"\x1b\[[0-9;]*m")


class Stripped(NamedTuple):
    """A line without its envelope. ``process``: the writer, or "". ``whole``: false if the line
    continues in another envelope. ``stamp``: the envelope's time in ISO-8601. ``strict``: the
    prefix cannot be anything else; other prefixes count only before a record.
    """

    envelope: str
    process: str
    stream: str
    content: bytes
    whole: bool = True
    stamp: bytes = b""
    strict: bool = True


@dataclass(frozen=True, slots=True)
class _Prefix:
    name: str
    regex: re.Pattern[bytes]
    strict: bool = False


_CRI = re.compile(rb"(" + _STAMP + rb") (stdout|stderr) ([FP])(?::[^ \n]*)? ?")
"""https://github.com/kubernetes/design-proposals-archive/blob/main/node/kubelet-cri-logging.md"""

_DOCKER = re.compile(
    rb'\{"log": ?"([^"\\]*+)(\\n)?", ?"stream": ?"(stdout|stderr)", ?"time": ?"([^"\\]{1,40})"\}'
)

_CLOUDWATCH_ROW = re.compile(
    rb'"?([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3})"?,"(\{""[^\n]*\})"\r?'
)
_CLOUDWATCH_TAIL = re.compile(rb"(" + _STAMP + rb') [^ {}\n]{1,512} (\{"[^\n]*\})\r?')

_PREFIXES = (
    _Prefix(
        "kubectl --prefix",
        re.compile(rb"\[pod/(?P<host>[^/\]\s]{1,253})/(?P<tag>[^\]\s]{1,253})\] ?"),
        strict=True,
    ),
    _Prefix(
        "syslog (RFC 5424)",
        re.compile(
            rb"<[0-9]{1,3}>1 (?P<stamp>"
            + _STAMP
            + rb"|-) (?P<host>[^ ]{1,255}) (?P<tag>[^ ]{1,128}) [^ ]{1,128} [^ ]{1,64} "
            rb"(?:-|(?:\[(?:[^\]\\]|\\.){0,4000}+\])++)(?: (?:\xef\xbb\xbf)?|$)"
        ),
        strict=True,
    ),
    _Prefix(
        "syslog",
        re.compile(
            (
                rb"(?:<[0-9]{1,3}>)?[A-Z][a-z]{2} [ 0-9][0-9] "
                rb"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})? "
            )
            + _HOST_AND_TAG
        ),
    ),
    _Prefix(
        "journald", re.compile(rb"(?:<[0-9]{1,3}>)?(?P<stamp>" + _STAMP + rb") " + _HOST_AND_TAG)
    ),
    _Prefix("docker compose", re.compile(rb"(?P<tag>[A-Za-z0-9][A-Za-z0-9_.-]{0,252}+) *+\| ?")),
    _Prefix("fluentd", re.compile(rb"(?P<stamp>" + _STAMP + rb")\t(?P<tag>[^\t\n]{1,250})\t")),
    _Prefix("time stamps", re.compile(rb"(?P<stamp>" + _STAMP + rb") ")),
    _Prefix(
        "stern",
        re.compile(
            rb"(?P<host>[a-z0-9]{1,63}+(?:[-.][a-z0-9]{1,63}+){1,20}+) "
            rb"(?P<tag>[a-z0-9]{1,63}+(?:-[a-z0-9]{1,63}+){0,10}+) "
        ),
    ),
)


def cri(line: bytes) -> Stripped | None:
    match = _CRI.match(line)
    if match is None:
        return None
    stamp, stream, tag = match.groups()
    return Stripped(
        "Kubernetes (CRI)", "", stream.decode(), line[match.end() :], tag == b"F", stamp
    )


def docker(line: bytes) -> Stripped | None:
    match = _DOCKER.fullmatch(line)
    if match is None:
        return None
    content, end, stream, stamp = match.groups()
    return Stripped("Docker json-file", "", stream.decode(), content, bool(end), stamp)


def cloudwatch(line: bytes) -> Stripped | None:
    row = _CLOUDWATCH_ROW.fullmatch(line)
    if row:
        stamp, content = row[1].replace(b" ", b"T"), row[2].replace(b'""', b'"')
        return Stripped("CloudWatch CSV", "", "", content, True, stamp + b"Z")
    tail = _CLOUDWATCH_TAIL.fullmatch(line)
    return Stripped("aws logs tail", "", "", tail[2], True, tail[1]) if tail else None


def match_prefixes(line: bytes) -> Iterator[Stripped]:
    if line[:1] == b"\x1b":
        line = COLOURS.sub(b"", line, count=4)
    for prefix in _PREFIXES:
        match = prefix.regex.match(line)
        if match:
            groups = match.groupdict()
            content = line[match.end() :]
            parts = [
                part.decode("utf-8", "replace")
                for part in (groups.get("host"), groups.get("tag"))
                if part and part != b"-"
            ]
            yield Stripped(
                prefix.name,
                "/".join(parts),
                "",
                content,
                True,
                groups.get("stamp") or b"",
                prefix.strict,
            )

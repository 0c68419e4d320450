import re
from enum import Enum

FLINK_SENSITIVE_KEYS = (
    "password",
    "secret",
    "fs.azure.account.key",
    "apikey",
    "api-key",
    "auth-params",
    "service-key",
    "token",
    "basic-auth",
    "jaas.config",
    "http-headers",
)

_SETTING = re.compile(
    "|".join(re.escape(word) for word in FLINK_SENSITIVE_KEYS)
    + r"|passw|passphrase|passcode|(?<![a-z])pwd(?![a-z])|credential"
    + r"|(?:api|access|account|service|private|signing|encryption)[-_.]?key|auth|jaas",
    re.IGNORECASE,
)


def holds_secret(key: str) -> bool:
    return _SETTING.search(key) is not None


class Secrecy(Enum):
    """Which values after a name are secrets."""

    ALWAYS = "all"
    COUNTED = "all but a number, a duration or a size"
    PATH = "all but a path"
    WORD = "those that look random"
    LINE = "all, up to the end of the line"


_KEY_OF = (
    "api|access|account|service|private|secret|shared|signing|signature|encryption|decryption|master"
    "|storage|subscription|license|integration|client"
)
KEY_WORDS = rf"(?:{_KEY_OF})[-_.\ ]?keys?(?![a-z])|key[-_]data"
NAME_WORD = re.compile(
    rf"""passw|passphrase|passcode|pwd|pw\b|pass\b|pass(?=[_.\-])|secret|credential|token|jaas|cookie
    |authorization|auth\b|auth[-_]params|basic[-_.]auth|http[-_.]headers|signature|\bsig\b
    |{KEY_WORDS}|dockerconfig
    |SessionId\b|密码|密碼|口令|密钥|密鑰|秘钥|私钥|令牌|凭证|凭据|パスワード|пароль|contrase
    |mot\ de\ passe|kennwort|비밀번호""",
    re.IGNORECASE | re.VERBOSE,
)
"""Parts of names of secrets. Finds candidates, so it must be fast."""

_STRONG = re.compile(
    rf"""passw(?!ordless)|passphrase|passcode|secret(?!ar)|credential|auth[-_]params
    |basic[-_.]?auth|(?:{_KEY_OF})[-_.\ ]?keys?(?![a-z])
    |[^\x00-\x7f]|contrase|mot\ de\ passe|kennwort|dockerconfig|key-data|(?:j|php)sessionid""",
    re.IGNORECASE | re.VERBOSE,
)
_LINE = re.compile(
    r"(?:^|[-_.])(?:jaas(?:[-_.]config)?|set-cookie|cookie|(?:proxy-)?authorization|http-headers)$",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[._\-\s]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CLASS = re.compile(
    r"(?:[a-z_]\w*\.){2,}[A-Z](?!\w*[Pp]assw\w*\Z)\w*|\w*(?:Exception|Error|Failure|Fault)"
)
_DESCRIBING = frozenset(
    re.findall(
        r"\w+",
        """
        algorithm algorithms bucket cache check class config count counter deleter dir directory
        enabled encoding endpoint exists exp expiration expired expires expiry factory file filename
        filter format handler host id identifier ids index interval invalid issuer kind length level
        limit location manager max method min missing mode name names path plugin policy position
        prefix provider providers ratio reader refresh refreshes renewal renewer required rotation
        scheme scope service services size spec state status stop store strategy supplier timeout
        ttl type types uri url user username valid validity version
        """,
    )
)
"""The value of a name that ends with such a word is no secret."""
_ERROR_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        bad expired illegal incorrect invalid malformed missing no unexpected unknown unrecognized wrong
        """,
    )
)


def secrecy_of(name: str) -> Secrecy | None:
    """``name`` is in running text. ``None`` if its value is not secret."""
    if _CLASS.fullmatch(name):
        return None
    if _LINE.search(name):
        return Secrecy.LINE
    parts = [part.lower() for part in _PARTS.split(name) if part]
    if not parts or (
        len(parts) > 1
        and (
            (parts[-1] in _DESCRIBING and parts[-3:] != ["access", "key", "id"])
            or parts[0] in _ERROR_WORDS
        )
    ):
        return None
    last = parts[-1]
    if last in ("token", "passtoken") or "".join(parts[-2:]) in (
        "tokenvalue",
        "tokensecret",
        "tokenkey",
    ):
        return Secrecy.COUNTED
    if last in ("pwd", "pass", "pw") or (last.endswith("pw") and len(last) < 8):
        return Secrecy.PATH
    if _STRONG.search(name):
        return Secrecy.ALWAYS
    if last in ("auth", "sig", "signature"):
        return Secrecy.WORD
    return None

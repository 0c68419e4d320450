"""Whether a text may have secrets, by words: a hundred times as fast as the patterns."""

import re

from ingest.redaction.names import KEY_WORDS

_KEY = re.compile(KEY_WORDS)
_WORDS = (
    "pass",
    "pwd",
    "pw",
    "secret",
    "token",
    "credential",
    "auth",
    "sig",
    "cookie",
    "jaas",
    "headers",
    "sessionid",
    "dockerconfig",
    "bearer",
    "basic",
    "kennwort",
    "contrase",
    "hooks.",
    "/webhook",
    "/hook/",
    "telegram.org",
    "pagerduty.com",
    "code=",
    "identified",
    "jdbc:oracle",
    "-u ",
    "-u=",
    "--user",
    "--proxy-user",
)
_TOKENS = (
    "AKIA",
    "ASIA",
    "ABIA",
    "ACCA",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "glptt-",
    "gldt-",
    "glrt-",
    "glcbt-",
    "glsoat-",
    "xox",
    "xapp-",
    "eyJ",
    "AIza",
    "ya29.",
    "GOCSPX-",
    "_live_",
    "_test_",
    "sk-proj-",
    "sk-ant-",
    "SG.",
    "npm_",
    "pypi-",
    "dckr_pat_",
    "_v1_",
    "dapi",
    "hvs.",
    "hvb.",
    "hvr.",
    "whsec_",
    "AGE-SECRET",
    "glc_",
    "shpat_",
    "shpss_",
    "shpca_",
)
_FOREIGN_WORDS = (
    "密",
    "口令",
    "秘钥",
    "私钥",
    "令牌",
    "凭证",
    "凭据",
    "パスワード",
    "пароль",
    "비밀번호",
)


def is_suspicious(text: str) -> bool:
    lowered = text.lower()
    return (
        any(word in lowered for word in _WORDS)
        or ("key" in lowered and _KEY.search(lowered) is not None)
        or ("://" in text and "@" in text)
        or any(token in text for token in _TOKENS)
        or (not text.isascii() and any(word in lowered for word in _FOREIGN_WORDS))
    )

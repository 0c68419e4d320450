"""The text of a kept page: without what is for one answer alone, and with what says that it is old and takes nothing."""

import re

PLACE = b'<div id="state-of-data" class="state-of-data">'
"""Of ``base.html``: pages that keep themselves up to date bring this part up to date, too."""
_HTML = re.compile(rb'<html lang="([^"]*)"[^>]*>')
_CSRF = re.compile(rb'<input type="hidden" name="csrfmiddlewaretoken" value="[^"]*">')
_REST = rb"""(?:[^>"']|"[^"]*"|'[^']*')*"""
_TAG = re.compile(rb"<(/?form|button|input|select|textarea|fieldset)\b(" + _REST + rb")>", re.I)
_WRITES = re.compile(rb"""\smethod=["']?post\b""", re.I)
_ID, _FORM = (re.compile(rb"\s" + name + rb'="([^"]*)"', re.I) for name in (b"id", b"form"))
_ASKS = re.compile(rb"\shx-(?:post|put|patch|delete)=", re.I)


def to_keep(page: bytes) -> bytes:
    return _CSRF.sub(b"", page)


def as_last_known(page: bytes, banner: str, theme: str) -> bytes:
    """``banner`` at the top, in ``theme`` ("" as the browser prefers), and all that writes disabled.

    Filters and searches are not: they lead to pages that may be kept as well.
    """
    writing = {found[1] for tag in _TAG.finditer(page) if _is_writing_form(tag) and (found := _ID.search(tag[2]))}
    inside = False

    def shown(tag: re.Match[bytes]) -> bytes:
        nonlocal inside
        name, attributes = tag[1].lower(), tag[2]
        if name in (b"form", b"/form"):
            inside = _is_writing_form(tag)
            return tag[0]
        of = _FORM.search(attributes)
        writes = of[1] in writing if of else inside
        return b"<" + tag[1] + b" disabled" + attributes + b">" if writes or _ASKS.search(attributes) else tag[0]

    chosen = f' data-theme="{theme}"' if theme else ""
    themed = _HTML.sub(lambda tag: b'<html lang="' + tag[1] + b'"' + chosen.encode() + b">", page, count=1)
    return _TAG.sub(shown, themed).replace(PLACE, PLACE + banner.encode(), 1)


def _is_writing_form(tag: re.Match[bytes]) -> bool:
    return tag[1].lower() == b"form" and bool(_WRITES.search(tag[2]))

"""Names that a reader would take for each other: by capitals, by other forms of a letter, by letters of other scripts that look the same.

A short form of the skeletons of Unicode Technical Standard 39 (section 4): Latin, Cyrillic, Greek, Armenian. Digits and accents stay
what they are, since names of people differ by them.
"""

import unicodedata

_GLYPHS = (
    ("АВЕЅІЈКМНОРСТУХԚԜҮҺԀԌӀЬҒ", "abesijkmhopctyxqwyhdgibf"),  # Cyrillic capitals
    ("авеѕіјкмнорстухԛԝүһԁԍӏьғпгѵ", "abesijkmhopctyxqwyhdglbfnrv"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abezhikmnoptyx"),  # Greek capitals
    ("αβγεηικμνορστυχω", "abyenikuvopotuxw"),
    ("օոսհցզՕՏՍԼ", "onuhgqosul"),
    ("ıɑɡɩȷĸ", "iagijk"),
    ("ᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdeghijklmnoprstuvwyz"),
)
_LATIN: dict[int, str | None] = {ord(one): latin for others, letters in _GLYPHS for one, latin in zip(others, letters, strict=True)}
_LATIN |= dict.fromkeys(map(ord, "\u115f\u1160"))  # letters that are shown as nothing


def skeletons(name: str) -> set[str]:
    """Two names may be taken for each other where they share one: a capital may look like another letter than its small form."""
    plain = unicodedata.normalize("NFKD", name)
    return {_folded(plain), _folded(plain.translate(_LATIN)), _folded(plain).translate(_LATIN)}


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKD", text.casefold()).replace("i\u0307", "i")

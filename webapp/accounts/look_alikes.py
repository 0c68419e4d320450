"""Names that look alike, by Unicode Technical Standard 39, sections 4 (skeletons) and 5.2
(scripts).
"""

import unicodedata

_SCRIPTS = {
    "LATIN",
    "ARABIC",
    "ARMENIAN",
    "BENGALI",
    "CYRILLIC",
    "DEVANAGARI",
    "ETHIOPIC",
    "GEORGIAN",
    "GREEK",
    "GUJARATI",
    "GURMUKHI",
    "HEBREW",
    "KANNADA",
    "KHMER",
    "LAO",
    "MALAYALAM",
    "MYANMAR",
    "ORIYA",
    "SINHALA",
    "TAMIL",
    "TELUGU",
    "THAANA",
    "THAI",
    "TIBETAN",
}
"""Scripts in common use (UAX 31, table 5). Letters of rare scripts, such as Cherokee and Lisu,
resemble Latin capitals.
"""

_EAST_ASIAN = ("BOPOMOFO", "CJK", "HANGUL", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA")
_LAST_COMMON_LATIN = "\u017f"
"""Later Latin letters without an accent are phonetic signs, small capitals and the like."""

_GLYPHS = (
    ("АВЕЅІЈКМНОРСТУХԚԜҮҺԀԌӀЬҒ", "abesijkmhopctyxqwyhdgibf"),  # Cyrillic capitals
    ("авеѕіјкмнорстухԛԝүһԁӏьғпгѵ", "abesijkmhopctyxqwyhdlbfnrv"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "abezhikmnoptyx"),  # Greek capitals
    ("αβγεηικμνορστυχω", "abyenikuvopotuxw"),
    ("օոսհցզՕՏՍԼ", "onuhgqosul"),  # Armenian
    ("ıĸ〇丨", "ikol"),
)
_LATIN = {
    ord(glyph): latin
    for glyphs, letters in _GLYPHS
    for glyph, latin in zip(glyphs, letters, strict=True)
}
_ALIKE = str.maketrans("01i", "oll", "\u115f\u1160\u0307")
"""The third argument is removed: invisible letters, and the dot of a lower-case İ."""


def stray_letter(name: str) -> str | None:
    """A letter of a rare or a second script; None if no letter is. East Asian letters mix with all
    scripts.
    """
    letters = [
        (letter, script)
        for letter in unicodedata.normalize("NFKC", name)
        if (script := _script(letter))
    ]
    scripts = {script for _, script in letters}
    if len(scripts) <= 1 and scripts <= _SCRIPTS:
        return None
    return next(letter for letter, script in letters if script != "LATIN")


def skeletons(name: str) -> set[str]:
    """Names look alike if they share a skeleton. A capital and its small form may resemble
    different letters.
    """
    text = unicodedata.normalize("NFKC", name)
    return {_skeleton(text), _skeleton(text.lower()), _skeleton(text.upper())}


def _skeleton(text: str) -> str:
    return text.translate(_LATIN).casefold().translate(_ALIKE).replace("rn", "m").replace("vv", "w")


def _script(letter: str) -> str:
    """First word of the letter's Unicode name; "" for digits, signs and letters of any script."""
    if letter.isascii():
        return "LATIN" if letter.isalpha() else ""
    script = unicodedata.name(letter, "UNNAMED").replace("-", " ").partition(" ")[0]
    if script == "LATIN" and unicodedata.normalize("NFKD", letter)[0] > _LAST_COMMON_LATIN:
        return "RARE"
    return "" if script in _EAST_ASIAN else script

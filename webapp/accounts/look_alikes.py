"""Names that a reader would take for each other, after Unicode Technical Standard 39: sections 4
(skeletons) and 5.2 (scripts).
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
"""In common use (UAX 31, table 5).

Cherokee and Lisu, among others, have the shapes of nearly all Latin capitals.
"""

_EAST_ASIAN = ("BOPOMOFO", "CJK", "HANGUL", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA")
_LAST_COMMON_LATIN = "\u017f"
"""Further ones without an accent are phonetic signs, small capitals and the like."""

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
    for others, letters in _GLYPHS
    for glyph, latin in zip(others, letters, strict=True)
}
_ALIKE = str.maketrans("01i", "oll", "\u115f\u1160\u0307")
"""Left out: letters that are shown as nothing, and the dot that a small form of İ keeps."""


def stray_letter(name: str) -> str | None:
    """A letter of no script in common use, or of another one than the rest.

    East Asian letters may stand beside all others.
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
    """Two names may be taken for each other where they share one: a capital may look like another
    letter than its small form.
    """
    plain = unicodedata.normalize("NFKC", name)
    return {_skeleton(plain), _skeleton(plain.lower()), _skeleton(plain.upper())}


def _skeleton(text: str) -> str:
    return text.translate(_LATIN).casefold().translate(_ALIKE).replace("rn", "m").replace("vv", "w")


def _script(letter: str) -> str:
    """By the first word of its name in Unicode; "" of digits, signs and what may stand beside
    any.
    """
    if letter.isascii():
        return "LATIN" if letter.isalpha() else ""
    script = unicodedata.name(letter, "UNNAMED").replace("-", " ").partition(" ")[0]
    if script == "LATIN" and unicodedata.normalize("NFKD", letter)[0] > _LAST_COMMON_LATIN:
        return "RARE"
    return "" if script in _EAST_ASIAN else script

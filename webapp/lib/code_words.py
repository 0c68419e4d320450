WORDS_BY_CODE = {"ended_recently": "ended recently", "judged_again": "judged again"}


def spaced(code: str) -> str:
    return WORDS_BY_CODE.get(code) or code.replace("_", " ")

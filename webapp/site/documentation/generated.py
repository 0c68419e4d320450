"""Generated pages of the documentation. They are committed, so that building the site does not need
Weir.
"""

from webapp.site.documentation import (
    api,
    commands,
    fields,
    known_bugs,
    rules,
    settings,
)

NOTE = "<!-- Made by `manage.py generate_docs`; do not change it by hand. -->\n\n"


def pages() -> dict[str, str]:
    made = [part.pages() for part in (rules, known_bugs, settings, api, fields, commands)]
    return {path: NOTE + text for of in made for path, text in of.items()}

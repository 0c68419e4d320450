"""Generated pages of the documentation, which are committed, so that the site is built without
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
    modules = (rules, known_bugs, settings, api, fields, commands)
    return {path: NOTE + text for module in modules for path, text in module.pages().items()}

"""Where the documentation lies: what people write, and what MkDocs makes of it."""

from webapp.config.environment import PROJECT_DIR

FOLDER = PROJECT_DIR / "webapp" / "site" / "docs"
PAGES, SITE = FOLDER / "pages", FOLDER / "site"

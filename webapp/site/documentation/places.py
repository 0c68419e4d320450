"""Folders of the documentation: its sources, and the site that MkDocs builds."""

from webapp.config.environment import PROJECT_DIR

FOLDER = PROJECT_DIR / "webapp" / "site" / "docs"
PAGES, SITE = FOLDER / "pages", FOLDER / "site"

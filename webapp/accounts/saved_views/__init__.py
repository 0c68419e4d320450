"""Saved views: what a list page is narrowed to, ordered by and which range it has, under a name."""

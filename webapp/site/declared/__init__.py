"""Configuration as files: ``manage.py apply DIR`` makes the database say what the files say.

A kind (:class:`webapp.site.declared.kind.Kind`) reads and writes one sort of entry, such as
clusters. :mod:`.reading` reads the files, :mod:`.changes` compares them with the database and
applies the difference, :mod:`.guard` keeps pages, API and other commands from changing what a file
states.
"""

"""Catalogues of translations by area of the product, and checks of each translation.

A text of a page is marked where it stands, as a whole sentence: ``{% translate %}`` and ``{%
blocktranslate trimmed %}`` in templates, ``gettext`` and ``ngettext`` in code, ``gettext_lazy`` of
:mod:`webapp.lib.translations` for what is declared once. ``manage.py translations`` updates the
catalogues (that of ``lib`` has the messages of ``ingest`` and ``spark_jobs`` and the templates
beside the folders); write Simplified Chinese into the ``.po`` and run it again to compile. API,
exports, logs, commands and notices stay English.
"""

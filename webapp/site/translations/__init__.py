"""Catalogues of translations by area of the product, and checks of each translation. Texts of pages
are marked as whole sentences: by ``{% translate %}`` and ``{% blocktranslate trimmed %}`` in
templates, ``gettext`` and ``ngettext`` in code, and ``gettext_lazy`` of
:mod:`webapp.lib.translations` in declarations. ``manage.py translations`` updates the catalogues
(that of ``lib`` has the messages of ``ingest`` and ``spark_jobs``, and of templates outside
folders). Write Simplified Chinese into the ``.po``, and run it again to compile. API, exports,
logs, commands and notices are English.
"""

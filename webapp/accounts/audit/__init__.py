"""Who did what: one row for each write that somebody signed in asks for, by page or API, and for
each sign-in.

django-auditlog notes rows as they are saved: nothing of what was refused, nor of an update by one
statement: ``test_every_form_that_was_refused_leaves_one_entry_that_says_so``.
"""

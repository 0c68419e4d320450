"""Who did what: one row for each write that somebody signed in asks for, by page, API,
administration or command, and for each sign-in.
"""

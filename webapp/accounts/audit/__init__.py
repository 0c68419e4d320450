"""Who did what: one row for each write that somebody signed in asks for, by page, API,
or command, and for each sign-in.
"""

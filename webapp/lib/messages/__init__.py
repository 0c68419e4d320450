"""Messages (``ingest.messages``) in the language of whoever reads them, and in columns of the
database.
"""

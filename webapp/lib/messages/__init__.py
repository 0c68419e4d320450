"""Messages (``ingest.messages``) in the reader's language, and in database columns."""

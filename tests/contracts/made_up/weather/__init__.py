"""A source that nothing but this folder knows: where it lies below ``ingest``, it is collected."""

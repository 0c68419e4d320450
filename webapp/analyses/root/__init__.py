"""One module per analysis of a storage root."""

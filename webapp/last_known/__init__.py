"""What pages last said, kept in Redis for the time in which the database does not answer."""

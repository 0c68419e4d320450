"""Activity of a job's threads, from thread dumps that people request."""

"""What threads of a job do: thread dumps that people ask Flink for."""

"""What threads of a job do: thread dumps and flame graphs that people ask Flink for."""

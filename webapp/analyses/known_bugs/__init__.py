"""Which known bugs of Flink can hit which jobs, and which show."""

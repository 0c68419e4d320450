"""JMX of HDFS NameNodes: their load, and the number of calls of each kind."""

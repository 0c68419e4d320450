"""JMX of HDFS NameNodes: how loaded they are, and how many calls of each kind they had."""

"""Audit logs of HDFS NameNodes: who made which call when, as far as a NameNode logs it."""

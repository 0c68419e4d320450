"""Plans of Spark Connect carried out in this process, for inputs so small that planning them takes Spark longer than reading them.

The client writes the same frames for a server and for this: rules exist once. Only the part of the protocol that Weir's audits
use is understood; anything else is an ``Unsupported`` error, never a guess. Values mean what they mean to Spark with ANSI mode
and the zone UTC. Everything is held in memory and each relation is evaluated once.
"""

"""An analysis of a root of checkpoint storage a module."""

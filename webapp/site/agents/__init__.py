"""What agents ask over MCP (the Model Context Protocol): few read-only tools that answer questions.

Over HTTP at ``/mcp`` with a token of the API and its scope, and by ``manage.py mcp`` over the
standard streams of one machine.
"""

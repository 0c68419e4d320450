"""Read-only tools for agents over MCP (the Model Context Protocol): over HTTP at ``/mcp`` with a
token of the API and its scope, and by ``manage.py mcp`` over standard input and output.
"""

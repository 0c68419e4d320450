"""Clusters of a Kubernetes: what the Flink Kubernetes Operator and Flink's native mode say of them
to the API server.

The API server is asked by plain REST over aiohttp, which asks JobManagers, too: the clients of PyPI
hold whole answers before anything bounds them, run the programs that a kubeconfig names, and
connect wherever an environment's proxy or a redirect leads.
"""

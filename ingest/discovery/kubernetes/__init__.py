"""Clusters in Kubernetes, as the Flink Kubernetes Operator and Flink's native mode describe them.
Requests are plain REST over aiohttp: the clients on PyPI hold whole answers before anything bounds
them, run programs that a kubeconfig names, and follow proxies and redirects.
"""

"""Clusters in Kubernetes, as the Flink Kubernetes Operator and Flink's native mode describe them to
the API server. Requests are plain REST over aiohttp: the clients on PyPI hold whole answers before
anything bounds them, run the programs that a kubeconfig names, and follow proxies and redirects.
"""

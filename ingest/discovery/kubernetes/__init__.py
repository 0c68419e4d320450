"""Clusters in Kubernetes, as the Flink Kubernetes Operator and Flink's native mode describe them.
Requests are plain REST over aiohttp: clients on PyPI load answers of any size, run programs that a
kubeconfig names, and use proxies and redirects.
"""

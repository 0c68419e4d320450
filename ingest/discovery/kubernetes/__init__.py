"""Clusters of a Kubernetes: what the Flink Kubernetes Operator and Flink's native mode say of them
to the API server. It is asked by plain REST over aiohttp: the clients of PyPI hold whole answers
before anything bounds them, run the programs that a kubeconfig names, and follow proxies and
redirects.
"""

"""A Spark job that ends badly."""

import sys

if __name__ == "__main__":
    print("no memory left")
    sys.exit(1)

"""The stand-in for Spark where no cycle is needed."""

import sys

from tests.webapp.pipeline.stand_in_spark import main

if __name__ == "__main__":
    sys.exit("not needed" if sys.argv[1] == "cycle" else main())

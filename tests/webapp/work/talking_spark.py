"""A Spark job that does what its first argument says, and tells of itself."""

import json
import os
import subprocess
import sys
import time

SLEEP = "import time; time.sleep(600)"


def main() -> int:
    word = sys.argv[1]
    if word == "tell":
        told: dict[str, object] = {"pid": os.getpid(), "parent": os.getppid(), "arguments": sys.argv[2:]}
        told |= {"mark": os.environ.get("MARK"), "variables": len(os.environ), "input": sys.stdin.read()}
        print(json.dumps(told | {"pyspark": "pyspark.sql" in sys.modules}))
        print("an aside", file=sys.stderr)
    elif word == "exit":
        return int(sys.argv[2])
    elif word == "raise":
        raise ValueError("what went wrong")
    elif word == "leave":
        left = subprocess.Popen([sys.executable, "-c", SLEEP])
        print(left.pid, flush=True)
    elif word == "hang":
        left = subprocess.Popen([sys.executable, "-c", SLEEP])
        print(os.getpid(), os.getppid(), left.pid, flush=True)
        time.sleep(600)
    return 0


if __name__ == "__main__":
    sys.exit(main())

import tempfile,time
from pathlib import Path
import tests.bench.fleet_cycles as fc, tests.bench.bench_fleet as bf
from tests.bench.harness import Report
fc.WARMING=1; fc.WARMING_JOBS=1000
bf.FLEETS={"a":(1000,4),"b":(1000,8),"c":(2000,4)}; bf.ROUNDS=2
t=time.time(); bf.run(Report()); print(time.time()-t)

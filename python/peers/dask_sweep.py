"""Ten thousand simulations on a local cluster of Dask, of which one worker is killed on the way: nothing is lost, and
the dataset is the one that a single thread makes.

    python python/peers/dask_sweep.py [SEEDS]

Needs `laxity` and `distributed`.
"""

import os
import pathlib
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import distributed
import laxity

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKERS = 3


def main() -> int:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    grid = laxity.Sweep.from_dict({
        "scenario": str(ROOT / "scenarios" / "greedy-harder.toml"),
        "policies": ["background", "exact", "slack", "fifo"],
        "seeds": [1, seeds],
        "duration": "50 ms",
        "vary": {"link.rate": ["10 Mbit/s", "11 Mbit/s", "12 Mbit/s", "14 Mbit/s", "16 Mbit/s"]},
    })
    print(f"{grid.simulations} simulations in {grid.parts} parts, {WORKERS} workers of Dask {distributed.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        cluster = distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True,
                                           dashboard_address=None)
        with cluster, distributed.Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
            killed = []

            def kill(done: int, parts: int) -> None:
                if done >= parts // 3 and not killed:
                    os.kill(pids[0], signal.SIGKILL)
                    killed.append(done)

            began = time.perf_counter()
            laxity.sweep(grid, f"{folder}/dask", executor=client.get_executor(), progress=kill)
            took = time.perf_counter() - began
        began = time.perf_counter()
        with ThreadPoolExecutor(1) as thread:
            laxity.sweep(grid, f"{folder}/thread", executor=thread)
        alone = time.perf_counter() - began
        read = [{p.name: p.read_bytes() for p in pathlib.Path(folder, name).iterdir()} for name in ("dask", "thread")]
    print(f"worker {pids[0]} killed after {killed[0]} parts; {took:.1f} s, one thread {alone:.1f} s")
    print(f"{len(read[0]) - 1} parts; {'the same bytes' if read[0] == read[1] else 'OTHER BYTES'} by both")
    return 0 if read[0] == read[1] and len(read[0]) == grid.parts + 1 else 1


if __name__ == "__main__":
    sys.exit(main())

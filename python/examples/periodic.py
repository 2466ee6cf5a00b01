"""A periodic task that reserves CPU time for itself: 6 ms of work every 20 ms.

    PYTHONPATH=python python3 python/examples/periodic.py [JOBS]
"""

import sys
import time
from fractions import Fraction

from laxity import reserve

PERIOD = Fraction(20, 1000)
WORK = Fraction(6, 1000)


def main() -> None:
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    # A margin for interrupts, which count as well.
    runtime = WORK + Fraction(5, 10000)
    while True:
        try:
            reserve.reserve(runtime, PERIOD)
            break
        except reserve.Refused as why:
            print(why, file=sys.stderr)
            if not why.max_runtime or why.max_runtime >= runtime:
                sys.exit(1)
            runtime = why.max_runtime
    print(f"reserved {float(runtime * 1000):g} ms every {float(PERIOD * 1000):g} ms")

    release, deadline_misses = time.monotonic() + float(PERIOD), 0
    for _ in range(jobs):
        time.sleep(max(0.0, release - time.monotonic()))
        end = time.thread_time() + float(WORK)
        while time.thread_time() < end:
            pass
        release += float(PERIOD)
        deadline_misses += time.monotonic() > release
    print(f"jobs {jobs} deadline_misses {deadline_misses}")
    reserve.release()


if __name__ == "__main__":
    main()

"""A periodic task that reserves for itself: 6 ms of work every 20 ms.

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
    # A little more than the work: interrupts count, too.
    runtime = WORK + Fraction(5, 10000)
    while True:
        try:
            reserve.reserve(runtime, PERIOD)
            break
        except reserve.Refused as why:
            print(why, file=sys.stderr)
            if not why.fits or why.fits >= runtime:
                sys.exit(1)
            runtime = why.fits
    print(f"reserved {float(runtime * 1000):g} ms every {float(PERIOD * 1000):g} ms")

    release, late = time.monotonic() + float(PERIOD), 0
    for _ in range(jobs):
        time.sleep(max(0.0, release - time.monotonic()))
        until = time.thread_time() + float(WORK)
        while time.thread_time() < until:
            pass
        release += float(PERIOD)
        late += time.monotonic() > release
    print(f"jobs {jobs} late {late}")
    reserve.release()


if __name__ == "__main__":
    main()

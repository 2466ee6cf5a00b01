"""How long the package takes for what users wait for, in one run.

    python python/peers/speed.py [LAXITY]

Needs `laxity`, built in release mode, and numpy. With the path of the command `laxity`, the same million packets are also
simulated by it, from a CSV trace. Times are CPU time, the least of five runs.
"""

import collections
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
from typing import Callable, Deque, List, Optional, Tuple

import numpy

import laxity

PACKETS = 1_000_000
RATE = 1_000_000_000


def least(work: Callable[[], object], runs: int = 5) -> float:
    """The least CPU time of some runs, in seconds, over all threads."""
    times = []
    for _ in range(runs):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def process(command: List[str]) -> Tuple[float, float]:
    """The least CPU time of five runs of a process, and the time that passes in that run; both in seconds."""
    took = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall))
    return min(took)


def scenario(flows: int) -> laxity.Scenario:
    """A link with so many real-time flows and one class of best effort."""
    return laxity.Scenario.from_dict({
        "link": {"rate": RATE, "max_packet": 1500},
        "policy": {"use": "exact"},
        "realtime": [{"name": f"flow{i}", "deadline": 0.002 * (i + 1),
                      "envelope": {"packet": 1000, "peak": "8 MB/s", "burst": "20 kB", "rate": "4 MB/s"}}
                     for i in range(flows)],
        "best_effort": [{"name": "web"}],
    })


class Fifo:
    """The least that a policy can do."""

    def __init__(self, scenario: laxity.Scenario) -> None:
        self.queue: Deque[laxity.Packet] = collections.deque()

    def enqueue(self, now: int, packet: laxity.Packet) -> None:
        self.queue.append(packet)

    def dequeue(self, now: int) -> Optional[laxity.Packet]:
        return self.queue.popleft() if self.queue else None


def main() -> int:
    link = scenario(12)
    check = least(lambda: [link.check() for _ in range(100)]) / 100
    print(f"check of a link with 12 flows: {check * 1e3:.3f} ms")

    draw = numpy.random.default_rng(1)
    times = numpy.cumsum(draw.integers(0, 8_000, PACKETS)).astype("u8")
    sizes = draw.integers(64, 1000, PACKETS)
    flows = draw.integers(0, 13, PACKETS)
    own = least(lambda: link.simulate("exact", trace=laxity.Trace(times, sizes, flows)))
    print(f"{PACKETS:,} packets from numpy, `exact`, 13 flows: {own:.3f} s")
    fifo = least(lambda: link.simulate(Fifo, trace=laxity.Trace(times, sizes, flows)), 2)
    print(f"the same by FIFO in Python: {fifo:.3f} s, {PACKETS / fifo:,.0f} packets a second, "
          f"{2 * PACKETS / fifo:,.0f} calls")

    empty, own_import = [process([sys.executable, "-c", code]) for code in ("", "import laxity; laxity.Curve")]
    print(f"import with the compiled part: {(own_import[0] - empty[0]) * 1e3:.0f} ms of CPU, "
          f"{(own_import[1] - empty[1]) * 1e3:.0f} ms in all")

    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as folder:
            trace, file = pathlib.Path(folder, "trace.csv"), pathlib.Path(folder, "link.toml")
            names = numpy.array(link.names)
            rows = zip(times.tolist(), sizes.tolist(), names[flows].tolist())
            trace.write_text("time_ns,bytes,flow\n" + "".join(f"{t},{size},{flow}\n" for t, size, flow in rows))
            file.write_text(link.to_toml())
            command, _ = process(
                [sys.argv[1], "simulate", str(file), "--trace", str(trace), "--policy", "exact", "--json"])
        print(f"the same packets by the command: {command:.3f} s, so Python takes {own / command:.2f} times that")
    return 0


if __name__ == "__main__":
    sys.exit(main())

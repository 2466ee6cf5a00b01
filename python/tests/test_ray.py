"""Sweeps by Ray: where it is installed, as scripts/python.sh does with LAXITY_RAY=1."""

import importlib
import importlib.util
import os
import signal
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List

import laxity
from test_scenarios import ROOT
from test_sweeps import files

GRID: Dict[str, Any] = {
    "scenario": str(ROOT / "scenarios" / "access-link.toml"),
    "policies": ["exact", "background"],
    "seeds": [1, 40],
    "seeds_per_part": 4,
    "duration": "2 s",
}


@unittest.skipUnless(importlib.util.find_spec("ray"), "Ray is not installed")
class Ray(unittest.TestCase):
    # Fails when a part is lost with its worker, or an exception of a part is: tried with `max_retries=0`.
    def test_a_killed_worker_loses_nothing(self) -> None:
        ray = importlib.import_module("ray")
        executor = importlib.import_module("laxity.executors").RayExecutor(max_retries=5)
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
        self.addCleanup(ray.shutdown)
        killed: List[int] = []

        def kill(done: int, parts: int) -> None:
            if done and not killed:
                killed.append(executor.submit(os.getpid).result())
                os.kill(killed[0], signal.SIGKILL)

        with tempfile.TemporaryDirectory() as swept, tempfile.TemporaryDirectory() as alone:
            laxity.sweep(GRID, swept, executor=executor, progress=kill)
            with ThreadPoolExecutor(1) as thread:
                laxity.sweep(GRID, alone, executor=thread)
            self.assertEqual(files(swept), files(alone))
        self.assertEqual(len(killed), 1)
        with self.assertRaises(ZeroDivisionError):
            executor.submit(divmod, 1, 0).result()
        waiting = [executor.submit(pow, 2, 3) for _ in range(4)]
        self.assertEqual([future.result() for future in waiting], [8] * 4)


if __name__ == "__main__":
    unittest.main()

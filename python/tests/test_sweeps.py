"""Sweeps: the same bytes by the command, threads, processes and Dask, also after a worker was killed."""

import contextlib
import importlib
import os
import pathlib
import pickle
import signal
import tempfile
import unittest
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any, Dict

import polars

import laxity
from test_scenarios import ROOT

GRID: Dict[str, Any] = {
    "scenario": str(ROOT / "scenarios" / "greedy-harder.toml"),
    "policies": ["exact", "background"],
    "seeds": [1, 6],
    "seeds_per_part": 2,
    "duration": "20 ms",
    "vary": {"link.rate": ["10 Mbit/s", "12 Mbit/s"]},
}


def files(folder: str) -> Dict[str, bytes]:
    return {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}


class Sweeps(unittest.TestCase):
    def swept(self, executor: "Executor | None") -> Dict[str, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            calls = []
            laxity.sweep(GRID, folder, executor=executor, progress=lambda *at: calls.append(at))
            self.assertEqual(calls[-1], (6, 6))
            # Nothing is left to do.
            laxity.sweep(GRID, folder, executor=executor, progress=lambda *at: calls.append(at))
            self.assertEqual(calls[-1], (6, 6))
            self.assertEqual(len(calls), 8)
            return files(folder)

    # Fails when a part depends on where, or after what, it is computed.
    def test_executors_agree(self) -> None:
        with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2) as processes:
            first = self.swept(threads)
            self.assertEqual(self.swept(processes), first)
        self.assertEqual(len(first), 7)

    # Fails when the dataset cannot be read as one, or lacks a simulation.
    def test_datasets_are_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as threads:
            laxity.sweep(GRID, folder, executor=threads)
            frame = polars.read_parquet(f"{folder}/*.parquet")
            self.assertEqual(frame.select("link.rate", "policy", "seed").unique().height, 2 * 2 * 6)
            with self.assertRaisesRegex(laxity.InputError, "another sweep"):
                laxity.sweep({**GRID, "seeds": [1, 7]}, folder, executor=threads)

    # Fails when a killed worker takes finished parts with it, or the sweep does not go on.
    def test_a_killed_process_loses_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as threads:
            def kill(done: int, parts: int) -> None:
                if done == 2:
                    raise InterruptedError
            with self.assertRaises(InterruptedError):
                laxity.sweep(GRID, folder, executor=threads, progress=kill)
            kept = files(folder)
            self.assertGreaterEqual(len(kept), 3)
            with ProcessPoolExecutor(2) as pool:
                pool.submit(os.getpid).result()
                for pid in list(pool._processes):
                    # The pool ends the others itself when it sees that one is gone.
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                with self.assertRaises(Exception):
                    laxity.sweep(GRID, folder, executor=pool)
            laxity.sweep(GRID, folder, executor=threads)
            self.assertEqual(files(folder), self.swept(threads))

    # Fails when a sweep needs more of an executor than Dask gives, or a killed worker of a cluster loses a part.
    def test_dask(self) -> None:
        distributed: Any = importlib.import_module("distributed")
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
        with cluster, distributed.Client(cluster) as client, tempfile.TemporaryDirectory() as folder:
            pids = list(client.run(os.getpid).values())

            def kill(done: int, parts: int) -> None:
                if done == 1:
                    os.kill(pids[0], signal.SIGKILL)

            laxity.sweep(GRID, folder, executor=client.get_executor(), progress=kill)
            found = files(folder)
        with ThreadPoolExecutor(1) as thread:
            self.assertEqual(self.swept(thread), found)

    # Fails when a worker needs the file of the scenario, or a fault has no place.
    def test_pickle_and_faults(self) -> None:
        grid = laxity.Sweep.from_dict(GRID)
        copy = pickle.loads(pickle.dumps(grid))
        self.assertEqual((copy.fingerprint, copy.run(1)), (grid.fingerprint, grid.run(1)))
        self.assertEqual((grid.parts, grid.simulations), (6, 24))
        with self.assertRaises(laxity.InputError):
            grid.run(6)
        with self.assertRaisesRegex(laxity.InputError, "no `speed`"):
            laxity.Sweep.from_dict({**GRID, "vary": {"link.speed": [1]}})
        with self.assertRaises(FileNotFoundError):
            laxity.Sweep.from_dict({**GRID, "scenario": "nowhere.toml"})


class Statistics(unittest.TestCase):
    # Quantiles from the tables of Student's t. Fails when the freedom is off by one.
    def test_intervals(self) -> None:
        for count, quantile in ((2, 12.706), (3, 4.303), (5, 2.776), (11, 2.228), (31, 2.042)):
            values = [0.0] * (count - 1) + [1.0]
            mean = 1 / count
            deviation = ((count - 1) * mean**2 + (1 - mean) ** 2) / (count - 1)
            half = quantile * (deviation / count) ** 0.5
            got = laxity.interval(values)
            self.assertAlmostEqual(got.high - got.mean, half, delta=half * 0.005)
            self.assertAlmostEqual(got.mean, mean)
        with self.assertRaises(ValueError):
            laxity.interval([1.0])
        with self.assertRaisesRegex(ValueError, "infinite or no number"):
            laxity.interval([1.0, float("nan")])

    # Fails when seeds are not matched: the pairs differ by one each.
    def test_pairs(self) -> None:
        got = laxity.paired({3: 7.0, 1: 2.0, 2: 100.0}, {1: 1.0, 2: 99.0, 3: 6.0, 4: 0.0})
        self.assertEqual((got.mean, got.low, got.high, got.count), (1.0, 1.0, 1.0, 3))


if __name__ == "__main__":
    unittest.main()

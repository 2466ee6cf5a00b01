"""Scenarios, verdicts, simulations and tables: the same as those of the command."""

import functools
import gc
import os
import pathlib
import pickle
import signal
import tempfile
import threading
import time
import unittest
from typing import Any

import numpy
import pandas
import polars
import pyarrow

import laxity

ROOT = pathlib.Path(__file__).resolve().parents[2]

LINK = {
    "link": {"rate": 10_000_000},
    "policy": {"use": "exact", "compare": ["background"]},
    "realtime": [
        {"name": "voice", "deadline": 0.005,
         "envelope": {"packet": 100, "peak": "250 kB/s", "burst": 300, "rate": "150 kB/s"},
         "source": {"period": 0.02, "length": 100}},
    ],
    "best_effort": [
        {"name": "web", "envelope": {"burst": "30 kB", "rate": "300 kB/s"}, "source": {"greedy": True, "length": 1500}},
    ],
}

TASKS = {
    "cpu": {},
    "policy": {"use": "cbs"},
    "task": [
        {"name": "control", "reservation": {"budget": 0.002, "period": 0.01},
         "work": {"period": 0.01, "cost": "1500 us"}},
        {"name": "batch", "work": "cpu-bound"},
    ],
}


def scenario(name: str) -> laxity.Scenario:
    return laxity.Scenario.read(ROOT / "scenarios" / name)


class Reading(unittest.TestCase):
    # Fails when a number is not written in the unit of its key, or a pickle loses something.
    def test_dictionaries_are_scenarios(self) -> None:
        link = laxity.Scenario.from_dict(LINK)
        text = link.to_toml()
        self.assertIn('rate = "10 Mbit/s"', text)
        self.assertIn('deadline = "5 ms"', text)
        self.assertEqual(laxity.Scenario.from_toml(text), link)
        self.assertEqual(pickle.loads(pickle.dumps(link)), link)
        self.assertEqual(link.names, ["voice", "web", "other"])

    # Fails when a number of numpy is another than that of Python: tried without whole ones.
    def test_numbers_of_numpy(self) -> None:
        def of(number: Any) -> laxity.Scenario:
            return laxity.Scenario.from_dict({"link": {"rate": number(10_000_000)},
                                              "best_effort": [{"name": "web", "weight": number(3)}]})

        self.assertEqual(of(numpy.int64), of(int))
        self.assertEqual(of(numpy.float64), of(float))
        runs = laxity.Scenario.from_dict(LINK).simulate(seeds=numpy.int64(3), duration="1 ms")  # type: ignore[arg-type]
        self.assertEqual(set(runs.table["seed"]), {3})

    # Fails when the place, the key or the remedy is lost.
    def test_errors_have_places(self) -> None:
        with self.assertRaises(laxity.ScenarioError) as raised:
            laxity.Scenario.from_toml('[link]\nrate = "10 mbps"\n[[best_effort]]\nname = "web"\n', "home.toml")
        self.assertTrue(str(raised.exception).startswith("home.toml:2:"))
        (problem,) = raised.exception.problems
        self.assertEqual((problem.line, problem.key), (2, "link.rate"))
        self.assertIn("Mbit/s", problem.remedy)
        with self.assertRaises(laxity.ScenarioError):
            laxity.Scenario.read("nowhere.toml")

    # Fails when a file of this repository is of no kind, or a verdict cannot be shown.
    def test_every_scenario_is_checked(self) -> None:
        kinds = set()
        for path in sorted((ROOT / "scenarios").glob("*.toml")):
            own = laxity.Scenario.read(path)
            kinds.add(own.kind)
            check = own.check()
            self.assertEqual(check.admitted, check.to_dict()["admitted"], path.name)
            self.assertEqual(check.admitted, bool(check))
            self.assertGreater(len(str(check)), 50)
            frame = check.to_pandas()
            self.assertEqual(len(frame), check.to_polars().height, path.name)
        self.assertEqual(kinds, {"link", "stream", "cpu"})


class Simulating(unittest.TestCase):
    # Fails when seeds, policies or flows are lost, or runs differ with the number of threads.
    def test_tables(self) -> None:
        link = laxity.Scenario.from_dict(LINK)
        runs = link.simulate(seeds=[1, 2, 3], duration="500 ms")
        self.assertTrue(runs.promises_kept)
        frame = runs.to_pandas()
        self.assertEqual(len(frame), 3 * 2 * 2)
        self.assertEqual(set(frame["policy"]), {"exact", "background"})
        voice = frame[(frame.flow == "voice") & (frame.policy == "exact")]
        self.assertEqual(list(voice["packets"]), [25, 25, 25])
        self.assertEqual(list(voice["deadline_misses"]), [0, 0, 0])
        again = link.simulate(seeds=[1, 2, 3], duration="500 ms")
        self.assertEqual(again.to_dict(), runs.to_dict())
        self.assertIn("best_effort_mean_ms", str(runs.to_dict()["summary"]))

    # Fails when a library gets other values through the C data interface than the lists have, or an
    # exported array dies with its table.
    def test_arrow(self) -> None:
        runs = laxity.Scenario.from_dict(LINK).simulate(duration="300 ms", record=True)
        table = runs.record("packets")
        arrow = pyarrow.table(table)
        frame = pandas.DataFrame(runs.record("packets").to_pandas())
        pl = polars.DataFrame(table)
        batch = pyarrow.record_batch(table)
        values = table.to_dict()
        del table
        gc.collect()
        self.assertEqual(batch.num_rows, arrow.num_rows)
        for name, column in values.items():
            self.assertEqual(arrow[name].to_pylist(), column, name)
            self.assertEqual(pl[name].to_list(), column, name)
            self.assertEqual([None if pandas.isna(v) else v for v in frame[name]], column, name)
        self.assertEqual(set(values["policy"]), {"background", "exact"})
        self.assertEqual(pyarrow.table(runs).num_rows, 4)

    # Fails when a kind has no records, pages or texts.
    def test_every_kind(self) -> None:
        cases: "list[tuple[str, Any]]" = [("access-link.toml", "packets"), ("dwcs-paper.toml", "packets"), ("desktop.toml", "slices"),
                 ("desktop.toml", "jobs")]
        with tempfile.TemporaryDirectory() as folder:
            for name, record in cases:
                own = scenario(name)
                runs = own.simulate(own.policy, duration="200 ms", record=True)
                self.assertGreater(len(runs.record(record)), 10, name)
                self.assertGreater(len(runs.table), 1)
                page = os.path.join(folder, "page.html")
                runs.report(page)
                own.check().report(page + "2")
                self.assertIn("</html>", pathlib.Path(page).read_text())
                self.assertGreater(len(str(runs)), 50)
                with self.assertRaises(laxity.InputError):
                    runs.record("nothing")  # type: ignore[arg-type]

    # Fails when the columns of the trace are taken for each other, or names for indices.
    def test_traces(self) -> None:
        link = laxity.Scenario.from_dict(LINK)
        times = numpy.arange(50) * 1_000_000
        flows = numpy.arange(50) % 2
        trace = laxity.Trace(times, numpy.full(50, 100), flows)
        runs = link.simulate("exact", trace=trace, record=True)
        self.assertEqual(runs.record("packets")["arrival_ns"][:3], [0, 1_000_000, 2_000_000])
        names = numpy.array(["voice", "web"])[flows]
        seconds = pandas.DataFrame({"time": times / 1e9, "bytes": 100, "flow": names})
        nanoseconds = polars.DataFrame({"time_ns": times, "bytes": numpy.full(50, 100), "flow": names})
        for frame in (seconds, nanoseconds):
            self.assertEqual(link.simulate("exact", trace=frame).to_dict(), runs.to_dict())
        for wrong in ({"time": [1.0, 0.5], "bytes": [1, 1], "flow": [0, 0]},
                      {"time": [1.0], "bytes": [0], "flow": [0]},
                      {"time": [1.0], "bytes": [1], "flow": [7]},
                      {"time": [-1.0], "bytes": [1], "flow": [0]},
                      {"time": [1.0], "bytes": [1], "flow": ["nobody"]},
                      {"bytes": [1], "flow": [0]}):
            with self.assertRaises(laxity.InputError):
                link.simulate("exact", trace={k: numpy.array(v) for k, v in wrong.items()})
        # Each says which array is meant.
        for times_, sizes, flows_, text in (
                ([], [], [], "there is no packet"), ([[0, 1]], [1, 1], [0, 0], r"times: an array of shape \(1, 2\)"),
                ([0, 1], ["a", "b"], [0, 0], "sizes: an array of <U1"), ([0, 1], [1, 1], [0, -1], "flows: an array with"),
                ([0, 1e30], [1, 1], [0, 0], "times: 1.* s is no instant: give 0 to"),
                (numpy.array(["2026-01-01"], "M8[s]"), [1], [0], "times: an array of datetime64.*, and whole nanoseconds")):
            with self.assertRaisesRegex(laxity.InputError, text):
                laxity.Trace(times_, sizes, flows_)

    # Fails when a capture is not classified by the scenario.
    def test_captures(self) -> None:
        own = scenario("captured-link.toml")
        capture = ROOT / "captures" / "access-link.pcap"
        runs = own.simulate("exact", trace=capture)
        self.assertTrue(runs.promises_kept)
        self.assertGreater(sum(runs.table["packets"]), 1000)
        everything = laxity.Envelope.from_capture(capture)
        part = laxity.Envelope.from_capture(capture, {"protocol": "udp"})
        self.assertLess(part.rate, everything.rate)

    # Fails when the bursts of threads are taken for each other's, or a sleep ends at the end of the burst.
    def test_recordings(self) -> None:
        idle = {"cpu": {"cpus": 1}, "task": [{"name": "idle", "work": "cpu-bound", "join": "1 h"}]}
        cpus = laxity.Scenario.from_dict(idle)
        rows = [("a", 5.0, 5.004, 0.002), ("b", 5.001, 5.003, 0.001), ("a", 5.010, 5.013, 0.003)]
        frame = pandas.DataFrame(rows, columns=["thread", "wake", "block", "ran"])
        runs = cpus.simulate("edf", recording=frame, duration="1 s", record=True)
        slices = runs.record("slices").to_dict()
        ran = [0, 0]
        for task, begin, end in zip(slices["task"], slices["from_ns"], slices["to_ns"]):
            ran["ab".index(task)] += end - begin
        self.assertEqual(ran, [5_000_000, 1_000_000])
        # Nothing is drawn, so a second seed gives the same; nanoseconds and indices as well.
        whole = {f"{name}_ns": (frame[name] * 1e9).round().astype("u8") for name in ("wake", "block", "ran")}
        wakes, blocks, ran_ns = (numpy.asarray(column) for column in whole.values())
        made = laxity.Recording(wakes, blocks, ran_ns, [0, 1, 0], ["a", "b"])
        again = cpus.simulate("edf", recording=made, duration="1 s", seeds=2, record=True)
        for name in ("task", "from_ns", "to_ns"):
            self.assertEqual(again.record("slices")[name], slices[name])
        self.assertEqual(repr(made), "<Recording of 2 threads>")
        # The second burst begins 6 ms after the first one ended, or 10 ms after that began.
        for sleeps, begin in (("lengths", 8_000_000), ("instants", 10_000_000)):
            alone = laxity.Recording([0, 10_000_000], [4_000_000, 13_000_000], [2_000_000, 3_000_000], [7, 7],
                                     sleeps=sleeps)  # type: ignore[arg-type]
            runs = cpus.simulate("edf", recording=alone, duration="1 s", record=True)
            self.assertEqual(runs.record("slices")["from_ns"], [0, begin])
        # A file is the same here as in a scenario, with and without a choice of threads.
        file = ROOT / "captures" / "sched-ftrace.txt"
        named = laxity.Scenario.from_dict({**idle, "recording": [{"file": str(file), "sleeps": "wakers"}]})
        chosen = laxity.Recording.file(file, sleeps="wakers")
        self.assertEqual(cpus.simulate("edf", recording=chosen, duration=1).to_dict(),
                         named.simulate("edf", duration=1).to_dict())
        self.assertEqual(cpus.simulate("edf", recording=file, duration=1).promises_kept, True)
        for woke, blocked, times, threads, text in (
                ([], [], [], [], "there is no burst"), ([0], [1], [1], [0, 0], "give as many of each"),
                ([2], [1], [0], [0], "burst 0 blocks before"), ([0], [1], [2], [0], "ran for 2 ns within 1 ns"),
                ([0, 1], [2, 3], [1, 1], [0, 0], "burst 1 begins before"), ([0.0], [-1.0], [0], [0], "blocks: -1")):
            with self.assertRaisesRegex(laxity.InputError, text):
                laxity.Recording(woke, blocked, times, threads)
        with self.assertRaisesRegex(laxity.InputError, "thread 1 has no name"):
            laxity.Recording([0], [1], [1], [1], ["a"])
        with self.assertRaisesRegex(laxity.InputError, "which thread ended a sleep"):
            laxity.Recording([0], [1], [1], [0], sleeps="wakers")  # type: ignore[arg-type]
        with self.assertRaisesRegex(laxity.InputError, "has no column `block`"):
            cpus.simulate(recording={"wake": [0], "ran": [1], "thread": [0]})
        with self.assertRaisesRegex(laxity.InputError, "it is about threads"):
            laxity.Scenario.from_dict(LINK).simulate(recording=made)
        with self.assertRaisesRegex(laxity.InputError, "5 is no recording: give a `Recording`"):
            cpus.simulate(recording=5)

    # Fails when arguments without meaning are taken.
    def test_refusals(self) -> None:
        link, cpus = laxity.Scenario.from_dict(LINK), laxity.Scenario.from_dict(TASKS)
        with self.assertRaisesRegex(laxity.InputError, "no policy is called"):
            link.simulate("exakt")
        with self.assertRaisesRegex(laxity.InputError, "twice"):
            link.simulate(seeds=[1, 1])
        with self.assertRaisesRegex(laxity.InputError, "nothing happens"):
            link.simulate(duration=0)
        for seeds in (-1, "1", 1.5, [0.5], 1 << 64):
            with self.assertRaisesRegex(laxity.InputError, "is no seed: give a whole number"):
                link.simulate(seeds=seeds)  # type: ignore[arg-type]
        nameless: "list[Any]" = [42, [42], functools.partial(laxity.LinkPolicy, name="exact")]
        for policies in nameless:
            with self.assertRaisesRegex(laxity.InputError, "give the name of a built-in one, a class"):
                link.simulate(policies)
        with self.assertRaisesRegex(laxity.InputError, "5 is no trace: give a `Trace`"):
            link.simulate(trace=5)
        with self.assertRaisesRegex(laxity.InputError, "about packets"):
            cpus.simulate(trace=ROOT / "captures" / "access-link.pcap")
        with self.assertRaises(laxity.InputError):
            cpus.residual()


class Running(unittest.TestCase):
    # Fails when a run holds the GIL: the other thread counts nothing then.
    def test_other_threads_go_on(self) -> None:
        counted, done = [0], threading.Event()

        def count() -> None:
            while not done.is_set():
                counted[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        began = time.perf_counter()
        scenario("access-link.toml").simulate("exact", duration="300 s")
        took = time.perf_counter() - began
        done.set()
        thread.join()
        self.assertGreater(counted[0], max(3, took / 0.2))

    # Fails when Ctrl-C waits for the end of a run that would take minutes.
    def test_interrupt(self) -> None:
        # Programs in the background of a script ignore the signal.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        link = scenario("access-link.toml")
        began = time.perf_counter()
        # The signal may come before the run.
        with self.assertRaises(KeyboardInterrupt):
            timer.start()
            link.simulate("all", seeds=range(1, 50), duration="1 h")
        self.assertLess(time.perf_counter() - began, 60)


class Plans(unittest.TestCase):
    # Fails when the tree's model is another than that of `laxity link plan`, or a plan runs on another scenario: tried with
    # the scenario not compared.
    def test_trees_of_the_kernel_run_beside_policies(self) -> None:
        link = scenario("access-link.toml")
        plan = link.plan("hfsc", device="eth1")
        self.assertTrue(plan)
        self.assertEqual(plan.target, "hfsc")
        self.assertIn("tc qdisc add dev eth1 root handle 1: hfsc default 16", plan.commands)
        bounds = {flow["flow"]: flow["delay_ns"] for flow in plan.to_dict()["flows"]}
        runs = link.simulate([plan, "exact"], duration="2 s").to_dict()["policies"]
        self.assertEqual(list(runs), ["hfsc", "exact"])
        for name, bound in bounds.items():
            self.assertLess(runs["hfsc"]["flows"][name]["max_ms"], bound / 1e6)
        named = link.simulate({"kernel": plan}, duration="2 s", record=True)
        self.assertEqual(set(named.record("packets")["policy"]), {"kernel"})
        with self.assertRaisesRegex(laxity.InputError, "another scenario"):
            laxity.Scenario.from_dict(LINK).simulate(plan)
        with self.assertRaisesRegex(laxity.InputError, "hfsc, htb or cbs"):
            link.plan("fq")  # type: ignore[arg-type]
        with self.assertRaisesRegex(laxity.InputError, "at most 15 letters"):
            link.plan("hfsc", device="eth0; reboot")
        with self.assertRaisesRegex(laxity.InputError, "htb"):
            link.plan("htb")
        with self.assertRaisesRegex(laxity.InputError, "a plan for links"):
            laxity.Scenario.from_dict(TASKS).simulate(plan)


if __name__ == "__main__":
    unittest.main()

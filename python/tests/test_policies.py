"""Policies step by step, and policies written in Python in the engines of the built-in ones."""

import collections
import subprocess
import sys
import unittest
from typing import Deque, Dict, List, Optional, Tuple

import laxity
from laxity import Attributes, CpuPolicy, Departure, LinkPolicy, Packet, Scenario

from test_scenarios import LINK, TASKS


class Fifo:
    """Packets in order of arrival."""

    def __init__(self, scenario: Scenario) -> None:
        self.queue: Deque[Packet] = collections.deque()

    def enqueue(self, now: int, packet: Packet) -> None:
        self.queue.append(packet)

    def dequeue(self, now: int) -> Optional[Packet]:
        return self.queue.popleft() if self.queue else None


class Exact:
    """The built-in policy by way of Python."""

    def __init__(self, scenario: Scenario) -> None:
        policy = LinkPolicy(scenario, "exact")
        self.enqueue, self.dequeue = policy.enqueue, policy.dequeue
        self.next_event, self.drops = policy.next_event, policy.drops


class Short(Fifo):
    """Keeps four packets."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.dropped: List[Tuple[Packet, str]] = []

    def enqueue(self, now: int, packet: Packet) -> None:
        if len(self.queue) < 4:
            super().enqueue(now, packet)
        else:
            self.dropped.append((packet, "buffer-total"))

    def drops(self) -> List[Tuple[Packet, str]]:
        dropped, self.dropped = self.dropped, []
        return dropped


class Edf:
    """EDF over the reservations; tasks without one share what is left in order."""

    def __init__(self, scenario: Scenario) -> None:
        self.attributes: Dict[int, Attributes] = {}
        self.due: Dict[int, int] = {}

    def join(self, now: int, task: int, attributes: Attributes) -> None:
        self.attributes[task] = attributes

    def wake(self, now: int, task: int) -> None:
        reservation = self.attributes[task].reservation
        self.due[task] = now + reservation[2] if reservation else 1 << 62

    def block(self, now: int, task: int, ran: int) -> None:
        self.due.pop(task, None)

    def ran(self, now: int, task: int, ran: int) -> None:
        pass

    def pick(self, now: int, cpu: int) -> Optional[int]:
        return min(self.due, key=lambda task: (self.due[task], task), default=None)


class Cbs:
    """The built-in policy by way of Python."""

    def __init__(self, scenario: Scenario) -> None:
        policy = CpuPolicy("cbs")
        self.join, self.leave, self.change = policy.join, policy.leave, policy.change
        self.wake, self.block, self.ran = policy.wake, policy.block, policy.ran
        self.timer, self.next_event = policy.timer, policy.next_event
        self.policy = policy

    def pick(self, now: int, cpu: int) -> Optional[Tuple[int, Optional[int]]]:
        return self.policy.pick(now)


class Links(unittest.TestCase):
    # Fails when the engine treats a policy in Python differently: results are equal, packet by packet.
    def test_a_policy_in_python_decides_as_the_built_in_one(self) -> None:
        link = Scenario.from_dict(LINK)
        built_in = link.simulate("exact", duration="2 s", record=True)
        own = link.simulate({"exact": Exact}, duration="2 s", record=True)
        self.assertEqual(own.record("packets").to_dict(), built_in.record("packets").to_dict())
        self.assertEqual(own.to_dict(), built_in.to_dict())

    # Fails when a packet that an AQM drops and charges to the link counts as sent, or as never come.
    def test_charged_drops_are_those_of_the_built_in_policy(self) -> None:
        text = Scenario.from_dict(LINK).to_toml()
        codel = 'name = "web"\naqm = { use = "codel", ingress = true }'
        link = Scenario.from_toml(text.replace('name = "web"', codel).replace("10 Mbit/s", "3 Mbit/s"))
        built_in = link.simulate("exact", duration="2 s", record=True)
        table = built_in.table.to_dict()
        self.assertGreater(dict(zip(table["flow"], table["dropped"]))["web"], 0)
        own = link.simulate({"exact": Exact}, duration="2 s", record=True)
        self.assertEqual(own.record("packets").to_dict(), built_in.record("packets").to_dict())

    # Fails when packets are offered or sent out of order.
    def test_order_of_arrival(self) -> None:
        runs = Scenario.from_dict(LINK).simulate([Fifo, "exact"], duration="1 s", record=True).record("packets")
        sent = [seq for policy, seq in zip(runs["policy"], runs["seq"]) if policy == "Fifo"]
        self.assertGreater(len(sent), 100)
        self.assertEqual(sent, sorted(sent))

    # Fails when packets that a policy drops are lost to the results.
    def test_drops_are_counted(self) -> None:
        table = Scenario.from_dict(LINK).simulate([Short, "exact"], duration="1 s").table.to_dict()
        dropped = dict(zip(zip(table["policy"], table["flow"]), table["dropped"]))
        self.assertGreater(dropped["Short", "web"], 0)

    # Fails when an exception of a policy is lost, the run goes on after it, or another packet than the one that
    # came is sent: before, a flow of the policy's own ended as a bug in Laxity, and a length changed the results.
    def test_mistakes_are_exceptions(self) -> None:
        class Raises(Fifo):
            def dequeue(self, now: int) -> Optional[Packet]:
                raise KeyError("own")

        class Invents(Fifo):
            def dequeue(self, now: int) -> Optional[Packet]:
                return Packet(10**9, now, 0, 100)

        class Twice(Fifo):
            def dequeue(self, now: int) -> Optional[Packet]:
                return self.queue[0] if self.queue else None

        class Wrong(Fifo):
            def dequeue(self, now: int) -> Optional[Packet]:
                return 7  # type: ignore[return-value]

        class Forges(Fifo):
            """Sends under the number of a packet one with other values."""

            changed: Dict[str, int] = {}

            def dequeue(self, now: int) -> Optional[Departure]:  # type: ignore[override]
                packet = super().dequeue(now)
                if packet is None:
                    return None
                values = {name: getattr(packet, name) for name in ("seq", "arrival", "flow", "bytes", "wire", "key")}
                return Departure(Packet(**{**values, **self.changed}))

        link = Scenario.from_dict(LINK)
        link.simulate(Forges, duration="100 ms")
        for forged in ({"flow": 99}, {"flow": 2}, {"arrival": 1}, {"bytes": 1}, {"wire": 1}, {"key": 7}):
            Forges.changed = forged
            with self.assertRaisesRegex(laxity.PolicyError, "than it came with"):
                link.simulate(Forges, duration="100 ms")
        with self.assertRaisesRegex(KeyError, "own"):
            link.simulate(Raises)
        for policy in (Invents, Twice, Wrong):
            with self.assertRaises(laxity.PolicyError):
                link.simulate(policy)
        with self.assertRaises(AttributeError):
            link.simulate({"none": lambda scenario: object()})  # type: ignore[dict-item, return-value]

    # Fails when a policy step by step sends in another order than its packets' deadlines ask for.
    def test_step_by_step(self) -> None:
        policy = LinkPolicy(Scenario.from_dict(LINK), "background")
        policy.enqueue(0, Packet(0, 0, 1, 1500))
        policy.enqueue(0, Packet(1, 0, 0, 100))
        self.assertEqual(policy.waiting(), 2)
        first, second = policy.dequeue(0), policy.dequeue(80_000)
        assert first is not None and second is not None
        self.assertEqual((first.packet.seq, first.deadline, first.realtime), (1, 5_000_000, True))
        self.assertEqual((second.packet.seq, second.deadline), (0, None))
        self.assertIsNone(policy.dequeue(80_000))
        policy.enqueue(90_000, Packet(2, 90_000, 1, 60_000))
        self.assertEqual(policy.drops(), [(Packet(2, 90_000, 1, 60_000), "oversize")])
        with self.assertRaisesRegex(laxity.PolicyError, "before"):
            policy.dequeue(0)
        with self.assertRaisesRegex(laxity.PolicyError, "3 flows"):
            policy.enqueue(90_000, Packet(3, 90_000, 3, 100))
        self.assertIsNone(Departure(first.packet).deadline)


# Two threads with one policy, of which each call is a mistake.
SHARED = """
import faulthandler, sys, threading, laxity
faulthandler.dump_traceback_later(60, exit=True)
sys.setswitchinterval(1e-6)
link = laxity.Scenario.from_dict({"link": {"rate": "1 Mbit/s"}, "best_effort": [{"name": "web"}]})
streams = laxity.Scenario.from_dict({"server": {"service": "1 ms"},
                                     "stream": [{"name": "audio", "tolerance": "1/2", "gap": "1 ms"}]})
calls = [laxity.LinkPolicy(link, "fifo").dequeue, laxity.StreamPolicy(streams, "edf").dequeue, laxity.CpuPolicy("cbs").timer]
for call in calls:
    call(100)

def mistakes():
    for _ in range(500):
        for call in calls:
            try:
                call(0)
            except laxity.PolicyError:
                pass

threads = [threading.Thread(target=mistakes) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


class Threads(unittest.TestCase):
    # Fails when a thread that makes an exception waits for the GIL, and one that has the GIL for its lock: tried with a
    # lock that keeps the GIL.
    def test_a_policy_of_several_threads(self) -> None:
        subprocess.run([sys.executable, "-c", SHARED], check=True)


class Cpus(unittest.TestCase):
    # Fails when a policy in Python is asked at other instants, or told other times, than the built-in one.
    def test_a_policy_in_python_decides_as_the_built_in_one(self) -> None:
        cpus = Scenario.from_dict(TASKS)
        built_in = cpus.simulate("cbs", duration="2 s", record=True)
        own = cpus.simulate({"cbs": Cbs}, duration="2 s", record=True)
        for record in ("slices", "jobs"):
            self.assertEqual(own.record(record).to_dict(), built_in.record(record).to_dict())
        self.assertGreater(len(own.record("slices")), 100)

    # EDF by hand: the reserved task runs as soon as it wakes. Fails when its deadline is not told.
    def test_edf_in_python(self) -> None:
        jobs = Scenario.from_dict(TASKS).simulate(Edf, duration="1 s", record=True).record("jobs")
        ended = [(end - release) for release, end, how in
                 zip(jobs["release_ns"], jobs["end_ns"], jobs["outcome"]) if how == "ended"]
        self.assertEqual(set(ended), {1_500_000})
        self.assertEqual(len(ended), 100)

    # Fails when a pick of a task that sleeps, or an exception, does not end the run.
    def test_mistakes_are_exceptions(self) -> None:
        class Sleeps(Edf):
            def pick(self, now: int, cpu: int) -> Optional[int]:
                return 0

        class Wrong(Edf):
            def pick(self, now: int, cpu: int) -> Optional[int]:
                return "task"  # type: ignore[return-value]

        cpus = Scenario.from_dict(TASKS)
        with self.assertRaisesRegex(laxity.InputError, "cannot run"):
            cpus.simulate(Sleeps, duration="1 s")
        with self.assertRaises(laxity.PolicyError):
            cpus.simulate(Wrong, duration="1 s")

    # A hard reservation of 2 ms in 10 ms before best effort, by hand. Fails when a step is about another task.
    def test_step_by_step(self) -> None:
        policy = CpuPolicy("cbs")
        self.assertEqual(policy.join(0, 0, Attributes(budget="2 ms", period="10 ms")), 0)
        policy.join(0, 1, Attributes(nice=5))
        policy.wake(0, 1)
        picked = policy.pick(0)
        assert picked is not None
        self.assertEqual(picked[0], 1)
        policy.ran(1_000_000, 1, 1_000_000)
        policy.wake(1_000_000, 0)
        picked = policy.pick(1_000_000)
        assert picked is not None
        self.assertEqual(picked[0], 0)
        policy.block(2_000_000, 0, 1_000_000)
        picked = policy.pick(2_000_000)
        assert picked is not None
        self.assertEqual(picked[0], 1)
        with self.assertRaisesRegex(laxity.InputError, "%"):
            policy.join(2_000_000, 2, Attributes(budget="9 ms", period="10 ms"))
        with self.assertRaisesRegex(laxity.PolicyError, "before"):
            policy.wake(0, 0)
        with self.assertRaisesRegex(laxity.InputError, "budget"):
            Attributes(budget="2 ms")

    # Fails when options are not those of the scenario file.
    def test_options(self) -> None:
        names = {p["name"]: p["options"] for p in laxity.policies("cpu")}
        self.assertIn("eevdf", names)
        CpuPolicy("eevdf")
        with self.assertRaises(laxity.InputError):
            CpuPolicy("eevdf", nonsense=1)
        with self.assertRaises(laxity.InputError):
            CpuPolicy("nobody")


if __name__ == "__main__":
    unittest.main()

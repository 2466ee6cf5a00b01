"""Stream policies step by step, and stream policies written in Python in the engine of the built-in ones."""

import itertools
import unittest
from fractions import Fraction
from typing import Any, Dict, List, Optional, Set, Tuple

import laxity
from laxity import Scenario, StreamHead, StreamPacket, StreamPolicy

# More than the server sends: 13 packets in 10 ms, of 1 ms each; with a class whose late packets are sent all the same.
STREAMS = {
    "server": {"service": "1 ms", "buffer": {"packets": 4}},
    "policy": {"use": "dwcs"},
    "stream": [
        {"name": "audio", "count": 3, "tolerance": "1/5", "gap": "10 ms"},
        {"name": "video", "count": 4, "tolerance": "1/3", "gap": "10 ms", "packet": {"uniform": ["600 B", "1200 B"]},
         "source": {"burst": 6, "every": "30 ms"}},
        {"name": "control", "count": 2, "tolerance": "0/1", "gap": "3 ms", "droppable": False,
         "source": {"period": "5 ms", "jitter": "2 ms"}},
        {"name": "bulk", "count": 1, "tolerance": "1/2", "gap": "none", "source": {"period": "5 ms"}},
    ],
}


# The first two of these classes, without overload: a packet that may not go yet keeps the server idle.
LIGHT = {**STREAMS, "stream": [{**c, "count": 2} for c in STREAMS["stream"][:2]]}  # type: ignore[index]


class Heads:
    """The streams that wait."""

    def __init__(self, scenario: Scenario) -> None:
        self.heads: Dict[int, StreamHead] = {}

    def update(self, stream: int, head: Optional[StreamHead]) -> None:
        if head is None:
            del self.heads[stream]
        else:
            self.heads[stream] = head


class Fifo(Heads):
    """The packet that arrived first."""

    def pick(self, now: int) -> Optional[int]:
        return min(self.heads, key=lambda stream: (self.heads[stream].arrival, stream), default=None)


class Dwcs(Heads):
    """Deadlines first, then windows, or the reverse; no packet more than a gap before its deadline."""

    deadlines_first = True

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.now = 0

    @staticmethod
    def release(head: StreamHead) -> int:
        return 0 if head.deadline is None or head.gap is None else max(0, head.deadline - head.gap)

    def rank(self, head: StreamHead) -> Tuple[Any, ...]:
        x, y = head.window
        # Windows without losses left come first, the longer the sooner.
        tolerance = (0, -y) if x == 0 else (1, Fraction(x, y))
        deadline = (1, 0) if head.deadline is None else (0, head.deadline)
        first = (deadline, tolerance) if self.deadlines_first else (tolerance, deadline)
        return *first, x, head.arrival, head.stream

    def pick(self, now: int) -> Optional[int]:
        ready = [head for head in self.heads.values() if self.release(head) <= now]
        return min(ready, key=self.rank).stream if ready else None

    def next_event(self) -> Optional[int]:
        return min(map(self.release, self.heads.values()), default=None)


class TolerancesFirst(Dwcs):
    """The other order."""

    deadlines_first = False


class Counting(Fifo):
    """Counts services and misses."""

    counted: Dict[str, int] = {}

    def served(self, stream: int) -> None:
        self.counted["served"] = self.counted.get("served", 0) + 1

    def missed(self, stream: int, count: int) -> None:
        self.counted["missed"] = self.counted.get("missed", 0) + count


def packets(runs: laxity.Simulation) -> Dict[str, List[Any]]:
    return runs.record("packets").to_dict()


def difference(own: laxity.Simulation, other: laxity.Simulation) -> Any:
    """The first packets of two runs that are not equal."""
    pairs = itertools.zip_longest(*(zip(*packets(runs).values()) for runs in (own, other)))
    return next((pair for pair in pairs if pair[0] != pair[1]), None)


class InTheEngine(unittest.TestCase):
    # Fails when the engine treats a policy in Python differently, packet by packet: tried with the tolerance in place of
    # the window, and without `next_event`.
    def test_a_policy_in_python_decides_as_the_built_in_one(self) -> None:
        for name, policy in (("dwcs", Dwcs), ("dwcs-tolerance-first", TolerancesFirst)):
            light = Scenario.from_dict(LIGHT)
            built_in = light.simulate(name, duration="1 s", record=True)
            own = light.simulate({name: policy}, duration="1 s", record=True)
            self.assertIsNone(difference(own, built_in))
        streams = Scenario.from_dict(STREAMS)
        fates: "Set[Tuple[str, str]]" = set()
        choices: "List[Tuple[str, Any]]" = [("fifo", Fifo), ("dwcs", Dwcs), ("dwcs-tolerance-first", TolerancesFirst)]
        for name, policy in choices:
            built_in = streams.simulate(name, duration="1 s", record=True)
            own = streams.simulate({name: policy}, duration="1 s", record=True)
            self.assertIsNone(difference(own, built_in))
            self.assertEqual(own.to_dict(), built_in.to_dict())
            fates.update(zip(packets(own)["outcome"], packets(own)["reason"]))
        self.assertEqual(fates, {("sent", ""), ("late", ""), ("dropped", "deadline passed"), ("dropped", "queue full")})

    # Fails when policies beside each other see other arrivals, or several seeds the same.
    def test_beside_built_in_policies(self) -> None:
        table = Scenario.from_dict(STREAMS).simulate([Fifo, "edf"], seeds=[1, 2], duration="300 ms").table.to_dict()
        self.assertEqual(len(table["policy"]), 2 * 2 * 4)
        self.assertEqual(set(table["policy"]), {"Fifo", "edf"})
        self.assertIn("Fifo", str(Scenario.from_dict(STREAMS).simulate([Fifo, "edf"], duration="300 ms")))

    # Fails when a service or a miss is not reported.
    def test_services_and_misses(self) -> None:
        Counting.counted = {}
        table = Scenario.from_dict(STREAMS).simulate(Counting, duration="1 s").table.to_dict()
        self.assertEqual(Counting.counted, {"served": sum(table["served"]), "missed": sum(table["deadline_misses"])})
        self.assertGreater(min(Counting.counted.values()), 100)

    # Fails when a mistake of a policy ends in anything but an exception of the caller.
    def test_mistakes_are_exceptions(self) -> None:
        class Raises(Fifo):
            def update(self, stream: int, head: Optional[StreamHead]) -> None:
                raise KeyError("own")

        class Idle(Fifo):
            def pick(self, now: int) -> Optional[int]:
                return next(stream for stream in range(10) if stream not in self.heads)

        class Unknown(Fifo):
            def pick(self, now: int) -> Optional[int]:
                return 10

        class Wrong(Fifo):
            def pick(self, now: int) -> Optional[int]:
                return "audio"  # type: ignore[return-value]

        class Past(Fifo):
            def pick(self, now: int) -> Optional[int]:
                return None

            def next_event(self) -> Optional[int]:
                return 0

        streams = Scenario.from_dict(STREAMS)
        with self.assertRaisesRegex(KeyError, "own"):
            streams.simulate(Raises)
        for policy, text in ((Idle, "none of its packets waits"), (Unknown, "has 10 streams"), (Wrong, "return a stream"),
                             (Past, "a later instant")):
            with self.assertRaisesRegex(laxity.PolicyError, text):
                streams.simulate({"own": policy})
        with self.assertRaises(AttributeError):
            streams.simulate({"none": lambda scenario: object()})  # type: ignore[dict-item, return-value]
        with self.assertRaisesRegex(laxity.InputError, "a plan for links"):
            link = Scenario.from_dict({"link": {"rate": "1 Mbit/s"}, "best_effort": [{"name": "b"}],
                                       "realtime": [{"name": "a", "deadline": 0.05,
                                                     "envelope": {"burst": 3000, "rate": 20_000}}]})
            streams.simulate(link.plan("hfsc"))


class StepByStep(unittest.TestCase):
    # A server outside of the engine, which sends what the policy says, has the schedule of the simulation. Fails when a
    # step means something else than in the engine: tried with arrivals in whole microseconds.
    def test_a_server_of_ones_own(self) -> None:
        streams = Scenario.from_dict(STREAMS)
        # What still waits at the end is not recorded: it has arrived after this, or is of the class without deadlines.
        end, late = 900_000_000, 0
        for name in ("dwcs", "dwcs-paper", "edf", "wfq"):
            recorded = packets(streams.simulate(name, duration="1 s", record=True))
            rows = list(zip(*(recorded[column] for column in (
                "seq", "arrival_ns", "stream", "bytes", "departure_ns", "deadline_ns", "outcome", "reason"))))
            expected = {seq: (departure, deadline, outcome == "late")
                        for seq, _, _, _, departure, deadline, outcome, _ in rows
                        if departure is not None and departure <= end}
            overflows = {row[0] for row in rows if row[7] == "queue full" and row[1] <= end and row[2] != 9}
            arrivals = sorted(row[:4] for row in rows)
            policy = StreamPolicy(streams, name)
            self.assertEqual(policy.streams, 10)
            now, ahead = 0, 0
            sent: Dict[int, Tuple[int, Optional[int], bool]] = {}
            full: Set[int] = set()
            while now <= end:
                while arrivals[ahead][1] <= now:
                    seq, arrival, stream, size = arrivals[ahead]
                    policy.enqueue(now, StreamPacket(seq, arrival, stream, size))
                    ahead += 1
                departure = policy.dequeue(now)
                full.update(packet.seq for packet, reason in policy.drops()
                            if reason == "queue full" and packet.stream != 9 and packet.arrival <= end)
                if departure is not None:
                    now += 1_000_000
                    sent[departure.packet.seq] = (now, departure.deadline, departure.late)
                else:
                    event = policy.next_event()
                    now = arrivals[ahead][1] if event is None else min(event, arrivals[ahead][1])
            # A late packet has another deadline after each miss, the record its first.
            self.assertEqual({seq: (at, None if was else deadline, was) for seq, (at, deadline, was) in sent.items()
                              if at <= end},
                             {seq: (at, None if was else deadline, was) for seq, (at, deadline, was)
                              in expected.items()})
            self.assertEqual(full, overflows)
            late += sum(was for _, _, was in sent.values())
        self.assertGreater(late, 10)

    # Fails when a mistake is taken, or a number loses its meaning.
    def test_steps(self) -> None:
        policy = StreamPolicy(Scenario.from_dict(STREAMS), "edf")
        policy.enqueue(0, StreamPacket(0, 0, 3, 1000))
        policy.enqueue(5, StreamPacket(1, 5, 9, 1000))
        self.assertEqual((policy.waiting(), policy.window(0), policy.window(7)), (2, (1, 5), (0, 1)))
        departure = policy.dequeue(10)
        assert departure is not None
        self.assertEqual((departure.packet, departure.deadline, departure.late),
                         (StreamPacket(0, 0, 3, 1000), 10_000_000, False))
        departure = policy.dequeue(1_000_010)
        assert departure is not None
        self.assertIsNone(departure.deadline)
        self.assertIsNone(policy.dequeue(1_000_010))
        with self.assertRaisesRegex(laxity.PolicyError, "before"):
            policy.dequeue(0)
        with self.assertRaisesRegex(laxity.PolicyError, "10 streams"):
            policy.enqueue(2_000_000, StreamPacket(2, 0, 10, 1000))
        for arrival in (4, 3_000_000):
            with self.assertRaisesRegex(laxity.PolicyError, "give an instant from 5 ns"):
                policy.enqueue(2_000_000, StreamPacket(2, arrival, 9, 1000))
        with self.assertRaisesRegex(laxity.InputError, "no policy is called"):
            StreamPolicy(Scenario.from_dict(STREAMS), "exact")
        with self.assertRaisesRegex(laxity.InputError, "not of a media server"):
            StreamPolicy(Scenario.from_dict({"cpu": {}, "task": [{"name": "a", "work": "cpu-bound"}]}), "dwcs")


if __name__ == "__main__":
    unittest.main()

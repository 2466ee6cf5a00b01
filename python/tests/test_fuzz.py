"""Any call with any arguments ends in a result or an exception of the package, never in a panic.

Ten thousand cases, or as many as LAXITY_FUZZ_CASES says.
"""

import os
import unittest
from fractions import Fraction
from typing import Any

import numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import laxity

CASES = int(os.environ.get("LAXITY_FUZZ_CASES", "10000"))
# What Python itself raises about the number and the types of arguments, and what a refusal raises.
EXPECTED = (laxity.InputError, TypeError, ValueError, OverflowError, KeyError, OSError)

UNITS = ["", "B", "kB", "GB", "bit/s", "Mbit/s", "GB/s", "ns", "us", "ms", "s", "h", "x", " "]
texts = st.one_of(
    st.builds(lambda number, unit: f"{number} {unit}", st.integers(-1, 10**25), st.sampled_from(UNITS)),
    st.builds(lambda number, unit: f"{number}{unit}", st.floats(), st.sampled_from(UNITS)),
    st.text(max_size=8),
)
numbers = st.one_of(
    st.integers(0, 10_000),
    st.integers(-(1 << 130), 1 << 130),
    st.floats(),
    st.fractions(),
    st.fractions(0, 1000, max_denominator=1000),
    st.decimals(),
    st.sampled_from([0, 1, -1, (1 << 64) - 1, 1 << 64, (1 << 127) - 1, -(1 << 127)]),
)
arrays = st.one_of(
    st.lists(st.floats(), max_size=5).map(numpy.array),
    st.lists(st.integers(-5, 1 << 62), max_size=5).map(numpy.array),
    st.just(numpy.array(["a"])),
    st.just(numpy.zeros((2, 0))),
)
values = st.one_of(texts, numbers, numbers, arrays, st.none(), st.booleans(), st.just([]), st.just({}))

curves = st.one_of(
    st.builds(laxity.Curve.token_bucket, st.integers(-100, 10_000), st.integers(-100, 10**9)),
    st.builds(laxity.Curve.rate_latency, st.integers(0, 10**9), st.fractions(0, 10, max_denominator=100)),
    st.builds(lambda period, size, jitter: laxity.Envelope.periodic(period, size, jitter).curve(),
              st.integers(1, 1000).map(lambda ms: Fraction(ms, 1000)), st.integers(1, 1500),
              st.integers(0, 100).map(lambda ms: Fraction(ms, 1000))),
    st.builds(lambda a, b: laxity.Curve.token_bucket(0, a) - laxity.Curve.token_bucket(b, 1),
              st.integers(1, 1 << 120), st.integers(1, 1 << 90)),
)
UNARY = ["pieces", "corners", "tail", "rate", "is_concave", "is_convex", "__hash__", "__repr__", "_repr_html_",
         "__reduce__"]
WITH_VALUE = ["__call__", "left_limit", "inverse", "later", "raised", "points"]
WITH_CURVE = ["__add__", "__sub__", "minimum", "convolve", "deconvolve", "delay_bound", "backlog_bound", "above"]
MAKERS = [
    (laxity.Curve.token_bucket, 2), (laxity.Curve.rate_latency, 2), (laxity.Curve.two_piece, 3),
    (laxity.Curve.umax_dmax, 3), (laxity.Envelope.tspec, 4), (laxity.Envelope.leaky_bucket, 2),
    (laxity.Envelope.periodic, 3), (laxity.Envelope.from_trace, 2), (laxity.Trace, 3),
    (laxity.Recording, 4),
]

keys = st.sampled_from(["link", "cpu", "server", "policy", "realtime", "best_effort", "task", "stream", "rate", "name",
                        "envelope", "deadline", "burst", "use", "source", "work", "reservation", "budget", "period"])
trees = st.recursive(
    st.one_of(texts, numbers, st.booleans(), st.none(), st.sampled_from(["exact", "cbs", "10 Mbit/s", "5 ms"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.one_of(keys, st.text(max_size=3)), inner,
                                                                         max_size=4)),
    max_leaves=12,
)

LINK = laxity.Scenario.from_dict({
    "link": {"rate": "1 Mbit/s"},
    "realtime": [{"name": "a", "deadline": 0.05, "envelope": {"burst": 3000, "rate": 20_000}}],
    "best_effort": [{"name": "b"}],
})
link_steps = st.lists(
    st.tuples(st.sampled_from(["enqueue", "dequeue", "next_event", "handle_stall", "waiting", "drops"]),
              st.one_of(st.integers(0, 10**6), st.integers(0, (1 << 64) - 1)), st.integers(0, 3),
              st.one_of(st.integers(0, 2000), st.integers(0, (1 << 32) - 1))),
    max_size=12,
)
STREAMS = laxity.Scenario.from_dict({
    "server": {"service": "1 ms", "buffer": {"packets": 2}},
    "stream": [{"name": "a", "count": 2, "tolerance": "1/3", "gap": "5 ms"},
               {"name": "b", "tolerance": "0/1", "gap": "1 us", "droppable": False},
               {"name": "c", "tolerance": "1/2", "gap": "none", "source": "backlogged"}],
})
stream_steps = st.lists(
    st.tuples(st.sampled_from(["enqueue", "dequeue", "next_event", "waiting", "drops", "window"]),
              st.one_of(st.integers(0, 10**7), st.integers(0, (1 << 64) - 1)), st.integers(0, 4),
              st.one_of(st.integers(0, 2000), st.integers(0, (1 << 32) - 1))),
    max_size=12,
)
cpu_steps = st.lists(
    st.tuples(st.sampled_from(["join", "leave", "change", "wake", "block", "ran", "timer", "next_event", "pick"]),
              st.one_of(st.integers(0, 10**7), st.integers(0, (1 << 64) - 1)), st.integers(0, 3),
              st.one_of(st.integers(0, 10**7), st.integers(0, (1 << 64) - 1))),
    max_size=12,
)
attributes = st.one_of(
    st.builds(laxity.Attributes, st.integers(-20, 19)),
    st.builds(lambda budget, period, soft: laxity.Attributes(budget=Fraction(budget, 10**6),
                                                             period=Fraction(budget + period, 10**6), soft=soft),
              st.integers(1, 10**6), st.integers(0, 10**9), st.booleans()),
)


def fuzzed(part: int) -> settings:
    """So many of the cases."""
    return settings(max_examples=max(1, CASES * part // 100), deadline=None, database=None, derandomize=True,
                    suppress_health_check=list(HealthCheck))


def tried(call: Any, *arguments: Any) -> Any:
    """The result of a call, or none after an exception that may be."""
    try:
        return call(*arguments)
    except EXPECTED:
        return None


class Fuzz(unittest.TestCase):
    # Each of these fails when a panic, or an exception of another class, comes out.
    @fuzzed(25)
    @given(st.sampled_from(MAKERS), st.lists(values, min_size=4, max_size=4))
    def test_makers(self, maker: Any, arguments: "list[Any]") -> None:
        make, count = maker
        made = tried(make, *arguments[:count])
        if made is not None:
            repr(made)
            tried(getattr(made, "curve", lambda: None))

    @fuzzed(10)
    @given(st.lists(st.tuples(values, values), max_size=4), values, values, values)
    def test_curves_of_points(self, points: "list[Any]", rate: Any, period: Any, rise: Any) -> None:
        tried(laxity.Curve, points, rate)
        tried(lambda: laxity.Curve(points, period=period, rise=rise))

    @fuzzed(25)
    @given(curves, curves, st.sampled_from(UNARY), st.sampled_from(WITH_VALUE), st.sampled_from(WITH_CURVE), values)
    def test_operations(self, f: laxity.Curve, g: laxity.Curve, unary: str, with_value: str, with_curve: str,
                        value: Any) -> None:
        read = getattr(f, unary)
        if callable(read):
            tried(read)
        tried(getattr(f, with_value), value)
        result = tried(getattr(f, with_curve), g)
        if isinstance(result, laxity.Curve):
            tried(result.delay_bound, g)
            repr(result)

    @fuzzed(15)
    @given(trees, st.dictionaries(keys, trees, max_size=5))
    def test_scenarios(self, tree: Any, values: "dict[str, Any]") -> None:
        tried(laxity.Scenario.from_dict, tree)
        tried(laxity.Scenario.from_dict, values)
        scenario = tried(laxity.Scenario.from_dict, {"link": {"rate": "1 Mbit/s"}, "best_effort": [{"name": "b"}],
                                                     **values})
        if scenario is not None:
            tried(scenario.check)
            laxity.Scenario.from_toml(scenario.to_toml())

    @fuzzed(5)
    @given(values, values, values, st.booleans())
    def test_simulations(self, policies: Any, seeds: Any, trace: Any, record: bool) -> None:
        tried(lambda: LINK.simulate(policies, seeds=seeds, duration="1 ms", trace=trace, record=record))

    @fuzzed(10)
    @given(st.sampled_from([p["name"] for p in laxity.policies("link")]), link_steps)
    def test_link_policies(self, name: str, steps: "list[Any]") -> None:
        policy = tried(laxity.LinkPolicy, LINK, name)
        if policy is None:
            return
        for seq, (step, now, flow, size) in enumerate(steps):
            if step == "enqueue":
                tried(policy.enqueue, now, laxity.Packet(seq, now, flow, size))
            elif step == "dequeue":
                tried(policy.dequeue, now)
            else:
                getattr(policy, step)()

    @fuzzed(5)
    @given(st.sampled_from([p["name"] for p in laxity.policies("stream")]), stream_steps)
    def test_stream_policies(self, name: str, steps: "list[Any]") -> None:
        policy = laxity.StreamPolicy(STREAMS, name)
        for seq, (step, now, stream, size) in enumerate(steps):
            arguments = {"enqueue": (now, laxity.StreamPacket(seq, now, stream, size)), "dequeue": (now,),
                         "window": (stream,)}.get(step, ())
            tried(getattr(policy, step), *arguments)

    @fuzzed(5)
    @given(st.lists(values, min_size=1, max_size=6), values)
    def test_answers_of_stream_policies(self, answers: "list[Any]", event: Any) -> None:
        class Any_:
            def __init__(self, scenario: laxity.Scenario) -> None:
                self.answers = list(answers)

            def update(self, stream: int, head: Any) -> None:
                pass

            def pick(self, now: int) -> Any:
                return self.answers.pop() if self.answers else None

            def next_event(self) -> Any:
                return event

        tried(lambda: STREAMS.simulate(Any_, duration="20 us"))

    @fuzzed(10)
    @given(st.sampled_from([p["name"] for p in laxity.policies("cpu")]), cpu_steps, attributes)
    def test_cpu_policies(self, name: str, steps: "list[Any]", own: laxity.Attributes) -> None:
        policy = laxity.CpuPolicy(name)
        for step, now, task, ran in steps:
            arguments = {"join": (now, task, own), "change": (now, task, own), "leave": (now, task, ran),
                         "block": (now, task, ran), "ran": (now, task, ran), "wake": (now, task), "timer": (now,),
                         "pick": (now,), "next_event": ()}[step]
            tried(getattr(policy, step), *arguments)


if __name__ == "__main__":
    unittest.main()

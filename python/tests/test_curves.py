"""Curves and envelopes: exact, with units, against numbers computed by hand and against definitions."""

import pickle
import unittest
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import laxity
from laxity import Curve, Envelope

# The same cases each time, however slow the machine is.
settings.register_profile("laxity", deadline=None, derandomize=True, database=None)
settings.load_profile("laxity")

# Whole bytes, bit/s and milliseconds, small enough for sums to stay readable when a case fails.
bursts = st.integers(0, 10_000)
rates = st.integers(1, 10_000)
latencies = st.integers(0, 50).map(lambda ms: Fraction(ms, 1000))


class Quantities(unittest.TestCase):
    # Fails when a float is taken by its binary value: 0.005 is not 5 ms then.
    def test_numbers_are_exact(self) -> None:
        curve = Curve.rate_latency("1 Mbit/s", "5 ms")
        for latency in (0.005, Fraction(1, 200), Decimal("0.005"), numpy.float64(0.005), 0.007 - 0.002):
            self.assertEqual(Curve.rate_latency(1_000_000, latency), curve)

    # Fails when the text of the command is lost, or the class of the exception is.
    def test_errors_have_the_text_of_the_command(self) -> None:
        with self.assertRaisesRegex(laxity.QuantityError, "did you mean `Mbit/s`"):
            Curve.token_bucket("300 B", "10 mbps")
        with self.assertRaisesRegex(laxity.CurveError, "raise the peak"):
            Envelope.tspec("100 B", "1 kB/s", "300 B", "2 kB/s")
        wrongs: "list[Any]" = [None, True, "", [], float("nan"), 1 << 200]
        for wrong in wrongs:
            with self.assertRaises(laxity.InputError):
                Curve.token_bucket(wrong, 1)


class Curves(unittest.TestCase):
    # The numbers of a leaky bucket at a rate-latency server (Le Boudec and Thiran, 1.4): delay T + b/R, backlog
    # b + rT, output burst b + rT. Fails when a unit is mixed up.
    def test_the_three_bounds(self) -> None:
        arrivals = Curve.token_bucket(3000, "1 Mbit/s")
        service = Curve.rate_latency("8 Mbit/s", 0.01)
        self.assertEqual(arrivals.delay_bound(service), Fraction("0.013"))
        self.assertEqual(arrivals.backlog_bound(service), 4250)
        self.assertEqual(arrivals.deconvolve(service), Curve.token_bucket(4250, "1 Mbit/s"))
        self.assertIsNone(Curve.token_bucket(1, 9_000_000).delay_bound(service))
        self.assertIsNone(Curve.token_bucket(1, 9_000_000).deconvolve(service))

    # Fails when an operator computes anything but its name, at any of many instants.
    @given(bursts, rates, bursts, rates, st.lists(st.integers(0, 100_000), min_size=1, max_size=5))
    def test_pointwise_operations(self, b1: int, r1: int, b2: int, r2: int, times: "list[int]") -> None:
        f, g = Curve.token_bucket(b1, r1), Curve.token_bucket(b2, r2)
        for t in (Fraction(ms, 1000) for ms in times):
            x, y = b1 + r1 * t / 8, b2 + r2 * t / 8
            self.assertEqual((f + g)(t), x + y)
            self.assertEqual((f - g)(t), x - y)
            self.assertEqual(f.minimum(g)(t), min(x, y))
            self.assertEqual(f.convolve(g)(t), min(x, y))

    # Fails when service curves in a row do not add their latencies and keep the slower rate.
    @given(rates, latencies, rates, latencies)
    def test_servers_in_a_row(self, r1: int, t1: Fraction, r2: int, t2: Fraction) -> None:
        row = Curve.rate_latency(r1, t1).convolve(Curve.rate_latency(r2, t2))
        self.assertEqual(row, Curve.rate_latency(min(r1, r2), t1 + t2))

    # Fails when the inverse is not the first instant at which the curve is there.
    @given(bursts, rates, st.integers(1, 100_000))
    def test_inverse(self, burst: int, rate: int, data: int) -> None:
        at = Curve.token_bucket(burst, rate).inverse(data)
        self.assertEqual(at, max(Fraction(0), Fraction((data - burst) * 8, rate)))

    # Fails when arrays are read in another unit or shape than numbers, or copied values differ.
    def test_numpy(self) -> None:
        curve = Curve([("0 s", 0), ("1 ms", 100), ("1 ms", 300)], rate="8 kbit/s")
        times = numpy.array([[0.0, 0.0005], [0.001, 1.001]])
        self.assertEqual(curve(times).tolist(), [[0.0, 50.0], [300.0, 1300.0]])
        self.assertEqual(curve.left_limit("1 ms"), 100)
        with self.assertRaisesRegex(laxity.InputError, "numbers are needed"):
            curve(numpy.array(["a"]))

    # Fails when a part is lost on the way: the pieces, the tail.
    def test_pickle_equality_and_hash(self) -> None:
        stairs = Envelope.periodic("10 ms", 100, "3 ms").curve()
        for curve in (stairs, Curve.two_piece("1 Mbit/s", "10 ms", "5 Mbit/s")):
            copy = pickle.loads(pickle.dumps(curve))
            self.assertEqual(copy, curve)
            self.assertEqual(hash(copy), hash(curve))
        self.assertEqual(stairs.tail, (0, Fraction("0.01"), 100))
        self.assertNotEqual(stairs, Curve.token_bucket(0, 1))

    # Fails when a periodic curve does not repeat from where its points end.
    def test_periodic_curves_from_points(self) -> None:
        curve = Curve([(0, 10), (1, 10), (1, 30), (2, 30)], period=1, rise=20)
        self.assertEqual([curve(t) for t in (0, 1, 2, 7)], [10, 30, 50, 150])

    # Fails when the text or the picture of a notebook is empty.
    def test_display(self) -> None:
        curve = Curve.two_piece("1 Mbit/s", "10 ms", "5 Mbit/s")
        self.assertEqual(repr(curve), "<Curve from 0 s: 0 B + 1 Mbit/s; from 10 ms: 1250 B + 5 Mbit/s>")
        self.assertIn("<svg", curve._repr_html_())  # type: ignore[attr-defined]


class Envelopes(unittest.TestCase):
    # The bound of a TSpec by hand: min(packet + peak t, burst + rate t).
    @given(st.integers(0, 10**9))
    def test_tspec(self, ns: int) -> None:
        t = Fraction(ns, 10**9)
        envelope = Envelope.tspec("100 B", "250 kB/s", "300 B", "150 kB/s")
        self.assertEqual(envelope(t), min(100 + 250_000 * t, 300 + 150_000 * t))

    # Fails when the envelope lies below what was recorded in any interval, or times are read in another unit.
    @given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(1, 1500)), min_size=1, max_size=30))
    def test_an_envelope_of_a_trace_bounds_it(self, gaps: "list[tuple[int, int]]") -> None:
        times = numpy.cumsum([gap for gap, _ in gaps]).astype("u8")
        sizes = numpy.array([size for _, size in gaps])
        envelope = Envelope.from_trace(times, sizes)
        for i in range(len(gaps)):
            for j in range(i, len(gaps)):
                length = Fraction(int(times[j] - times[i]), 10**9)
                self.assertLessEqual(int(sizes[i:j + 1].sum()), envelope(length))
        self.assertEqual(Envelope.from_trace(times / 1e9, sizes), envelope)


if __name__ == "__main__":
    unittest.main()

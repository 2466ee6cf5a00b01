"""Results of other tools and textbooks, reproduced exactly: Nancy's examples of network calculus, and pyRTA's response
times. The whole comparison with pyRTA is python/peers/edf_pyrta.py.

Values are in bytes and seconds here; Nancy has no units.
"""

import importlib.util
import pathlib
import sys
import unittest
from fractions import Fraction
from typing import List, Optional, Tuple, Union

from laxity import Curve

ROOT = pathlib.Path(__file__).resolve().parents[2]
Rational = Union[int, Fraction]


def bucket(burst: Rational, rate: Rational) -> Curve:
    """Nancy's `SigmaRhoArrivalCurve`."""
    return Curve.token_bucket(burst, 8 * rate)


def server(rate: Rational, latency: Rational) -> Curve:
    """Nancy's `RateLatencyServiceCurve`."""
    return Curve.rate_latency(8 * rate, latency)


# Figure 5.7 of Bouillard, Boyer and Le Corronc, Deterministic Network Calculus (2018), as Nancy gives it.
TWO_SERVERS = server(3, 0).minimum(server(3, 4).raised(3))
JUMPS = Curve([(0, 2), (4, 3), (4, 4)], rate=4)


def late_jump(rate: int) -> Curve:
    """Nothing for 8 s, then a third of a byte a second, and a jump to 7 bytes at 11 s."""
    return Curve([(0, 0), (8, 0), (11, 1), (11, 7)], rate=rate)


# Arrivals, service, horizontal and vertical deviation, from Nancy.Tests/MinPlusAlgebra/Curves/Deviations.cs and
# QuickIntro.md of Nancy; None is infinite.
DEVIATIONS: "List[Tuple[Curve, Curve, Optional[Rational], Optional[Rational]]]" = [
    (bucket(4, 1), server(3, 3), Fraction(13, 3), 7),
    (bucket(4, 3), server(4, 3), 4, 13),
    (bucket(4, 5), server(4, 3), None, None),
    (bucket(1, 1), TWO_SERVERS, 2, 2),
    (bucket(1, 2), TWO_SERVERS, 3, 6),
    (bucket(2, 0), server(2, 2), 3, 2),
    (server(4, 0).minimum(bucket(12, 0)), server(3, 3).minimum(bucket(12, 0)), 4, 12),
    (bucket(4, 3), server(2, 3), None, None),
    (bucket(0, 1), server(2, 0), 0, 0),
    # Less than nothing waits: room is left.
    (bucket(0, 1), server(2, 0).raised(1), 0, -1),
    (bucket(4, 2), server(3, 0), Fraction(4, 3), 4),
    (bucket(20, 5), bucket(10, 5), 2, 10),
    (server(5, 10), server(5, 20), 10, 50),
    (server(Fraction(275, 7), Fraction(249, 44)), server(Fraction(275, 7), Fraction(35, 4)), Fraction(34, 11),
     Fraction(850, 7)),
    (JUMPS, late_jump(8), 11, Fraction(13, 2)),
    (late_jump(8), JUMPS, None, None),
    (late_jump(4), JUMPS, 0, Fraction(-1, 2)),
    # Needs numbers beyond 64 bits.
    (bucket(1, Fraction(2_441_407, 10**9)),
     server(Fraction(149_850_048_000, 12_309_415_288_891), Fraction(27_439, 40)),
     Fraction(115_102_801_965_691, 149_850_048_000), None),
]
# Rates and latencies of servers in a row: Nancy.Tests/MinPlusAlgebra/Curves/Convolution.cs.
ROWS = [[(3, 4), (4, 6)], [(3, 4), (4, 6), (6, 2)], [(4, 0), (3, 2)], [(4, 2), (3, 3)], [(2, 1), (4, 3)], [(6, 8), (2, 4)],
        [(6, 8), (6, 8)], [(2, 1), (2, 1)]]


class Nancy(unittest.TestCase):
    # Fails when a bound is off by anything, a jump is met on its wrong side, or an endless delay is given a number.
    def test_deviations(self) -> None:
        for place, (arrivals, service, delay, backlog) in enumerate(DEVIATIONS):
            with self.subTest(place):
                self.assertEqual(arrivals.delay_bound(service), delay)
                if backlog is not None or delay is None:
                    self.assertEqual(arrivals.backlog_bound(service), backlog)

    # Fails when a row of servers is not one with the sum of latencies and the slowest rate.
    def test_convolutions(self) -> None:
        for row in ROWS:
            whole = server(*row[0])
            for rate, latency in row[1:]:
                whole = whole.convolve(server(rate, latency))
            self.assertEqual(whole, server(min(rate for rate, _ in row), sum(latency for _, latency in row)))
        self.assertEqual([server(3, 4).convolve(server(4, 6))(t) for t in (0, 10, 12)], [0, 0, 6])

    # Nancy.Tests/MinPlusAlgebra/Curves/Deconvolution.cs; the last is from the RTaW playground. Fails when what leaves a
    # server keeps the burst that came.
    def test_deconvolutions(self) -> None:
        self.assertEqual(bucket(20, 10).deconvolve(server(30, 10)), bucket(120, 10))
        self.assertEqual(bucket(15, 30).deconvolve(server(40, 25)), bucket(765, 30))
        self.assertIsNone(bucket(15, 30).deconvolve(server(20, 10)))
        buckets = [(2, Fraction(7, 4)), (3, Fraction(4, 5)), (5, Fraction(2, 5))]
        came, left = (bucket(b, r) for b, r in buckets), (bucket(b + 2 * r, r) for b, r in buckets)
        came_in_all, left_in_all = next(came), next(left)
        for curve in came:
            came_in_all = came_in_all.minimum(curve)
        for curve in left:
            left_in_all = left_in_all.minimum(curve)
        self.assertEqual(came_in_all.deconvolve(server(2, 2)), left_in_all)


class PyRta(unittest.TestCase):
    # Fails when admission differs from pyRTA's response times without the reason that packets are whole: tried with
    # `blocking = "paper"`.
    def test_admission_agrees_with_response_times(self) -> None:
        spec = importlib.util.spec_from_file_location("edf_pyrta", ROOT / "python" / "peers" / "edf_pyrta.py")
        assert spec is not None and spec.loader is not None
        edf_pyrta = importlib.util.module_from_spec(spec)
        # Its dataclass looks its module up.
        sys.modules["edf_pyrta"] = edf_pyrta
        spec.loader.exec_module(edf_pyrta)
        counts, unexplained = edf_pyrta.compare(300)
        self.assertEqual(unexplained, [])
        self.assertGreater(min(counts["both admit"], counts["both refuse"]), 80)


if __name__ == "__main__":
    unittest.main()

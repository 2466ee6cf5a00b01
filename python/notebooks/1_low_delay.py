# %% [markdown]
# # Residual capacity and deadlines, by hand
#
# S. Chakraborty, M. Gries and L. Thiele, "Supporting a Low Delay Best-Effort Class in the Presence of Real-Time Traffic"
# (RTAS 2002), let best-effort packets pass real-time packets as long as no deadline suffers. This notebook computes what
# they compute, curve by curve, and compares it with the library.

# %%
from fractions import Fraction

import laxity
from laxity import Curve, Envelope

from common import BLACK, BLUE, GREEN, GREY, ORANGE, figure

# %% [markdown]
# ## Flows
#
# Table 3 of the paper: the TSpec of each real-time flow, and its deadline. In any interval of length `t` a flow sends at
# most `A(t) = min(M + p t, b + r t)`.

# %%
TABLE_3 = {
    "transactions": (Envelope.tspec(packet=700, peak="150 kB/s", burst=45000, rate="50 kB/s"), Fraction(20, 1000)),
    "video": (Envelope.tspec(packet=1536, peak="800 kB/s", burst=15000, rate="600 kB/s"), Fraction(30, 1000)),
    "voice": (Envelope.tspec(packet=100, peak="250 kB/s", burst=300, rate="150 kB/s"), Fraction(5, 1000)),
}
LINK, LARGEST = "10 Mbit/s", 1536
for name, (envelope, deadline) in TABLE_3.items():
    print(f"{name:13} {float(deadline) * 1000:3.0f} ms  {envelope.curve()}")

# %% [markdown]
# ## Residual capacity (section 3)
#
# Packets that are due within an interval of length `t` have arrived at least their deadline before its end, so a flow
# demands at most `A(t - d)` of it. The link sends `C t`, less a packet that it had begun before:
#
#     R(t) = C t - sum of A_k(t - d_k) - s_max
#
# Curves are exact: `+` and `-` are those of functions, `later` moves a curve to the right.

# %%
capacity = Curve.rate_latency(LINK, 0)
demand = None
for envelope, deadline in TABLE_3.values():
    own = envelope.curve().later(deadline)
    demand = own if demand is None else demand + own
residual = capacity - demand - Curve([(0, 0), (0, LARGEST)], 0)

least = min((residual(t), t) for t, _, _ in residual.corners if t >= Fraction(5, 1000))
print(f"least residual capacity from the shortest deadline on: {least[0]} B, in an interval of {float(least[1]) * 1000} ms")

# %% [markdown]
# All deadlines are kept if and only if `R` is not negative from the shortest deadline on. Best effort can use the
# *effective* residual capacity `E(t) = min { R(t') : t' >= t }`, which does not decrease: what is free in an interval but
# not in a longer one is of no use. From the right, corner by corner:

# %%
def effective(curve):
    """Points of E, from those of R; slopes after the last are the same."""
    points = []
    bound = None
    corners = [(t, left, value) for t, left, value in curve.corners]
    for (t, left, value), (t2, left2, _) in reversed(list(zip(corners, corners[1:]))):
        bound = left2 if bound is None else min(bound, left2)
        if value >= bound:
            points.append((t, bound))
        else:
            # R reaches the bound inside this piece, and E is flat from there on.
            slope = (left2 - value) / (t2 - t)
            if left2 > bound:
                points.append((t + (bound - value) / slope, bound))
            points.append((t, value))
            bound = min(bound, value)
        bound = min(bound, left)
    return points[::-1]


by_hand = effective(residual)
scenario = laxity.Scenario.from_dict({
    "link": {"rate": LINK, "max_packet": LARGEST},
    # As Algorithm 1 of the paper: best effort keeps its own deadlines too (Theorem 2), and history is kept until the link
    # idles (section 3, last paragraph). Laxity protects those of real time alone by default, and forgets sooner.
    "policy": {"use": "exact", "guarantee": "all", "restart": "idle"},
    "realtime": [{"name": name, "deadline": deadline,
                  "envelope": {"packet": e[0], "peak": e[1], "burst": e[2], "rate": e[3]}}
                 for name, deadline, e in [("transactions", "20 ms", (700, "150 kB/s", 45000, "50 kB/s")),
                                           ("video", "30 ms", (1536, "800 kB/s", 15000, "600 kB/s")),
                                           ("voice", "5 ms", (100, "250 kB/s", 300, "150 kB/s"))]],
    "best_effort": [{"name": "web"}],
})
E = scenario.residual()
for t, value in by_hand:
    assert E(t) == value, (t, value, E(t))
print(f"{len(by_hand)} corners agree with the library, exactly")

# %% [markdown]
# ## Deadlines (Algorithm 1)
#
# Best-effort packets 1 to n with release times `r_i` and sizes `w_i` demand, within an interval that ends with the
# deadline of packet n and begins with the release of packet i, the bytes of packets i to n. Each packet gets the shortest
# deadline at which none of these demands exceeds `E`:
#
#     D_n = max over i <= n of  r_i + Einv(w_i + ... + w_n)

# %%
packets = [(Fraction(at, 1000), size) for at, size in
           [(0, 1536), (0, 1536), (1, 600), (2, 1536), (20, 400), (20, 1536), (20, 1536), (20, 1536), (21, 1536)]]
deadlines = []
for n in range(len(packets)):
    demands = [(packets[i][0], sum(size for _, size in packets[i:n + 1])) for i in range(n + 1)]
    deadlines.append(max(release + E.inverse(demand) for release, demand in demands))
for (release, size), deadline in zip(packets, deadlines):
    print(f"{size:5} B at {float(release) * 1000:4.0f} ms: due after {float(deadline - release) * 1000:7.3f} ms")

# %% [markdown]
# The policy `exact` has the same deadlines, in whole nanoseconds. A video packet comes with each burst; it is due later
# than the burst and goes last.

# %%
policy = laxity.LinkPolicy(scenario, "exact")
NS, BYTES_PER_S = 10 ** 9, 1_250_000
flow = {name: index for index, name in enumerate(scenario.names)}
arrivals = [(int(release * NS), "web", size) for release, size in packets]
arrivals = sorted(arrivals + [(0, "video", 1536), (20_000_000, "video", 1536)])
assigned, now, seq = [], 0, 0
while arrivals or policy.waiting():
    while arrivals and arrivals[0][0] <= now:
        at, name, size = arrivals.pop(0)
        policy.enqueue(at, laxity.Packet(seq, at, flow[name], size))
        seq += 1
    departure = policy.dequeue(now)
    if departure is None:
        now = arrivals[0][0]
        continue
    if not departure.realtime:
        assigned.append(departure.deadline)
    sent = now + departure.packet.bytes * NS // BYTES_PER_S
    # Packets that arrive while this one is sent are there before the next decision.
    now = sent
assert all(0 <= have - want * NS < 1 for have, want in zip(assigned, deadlines, strict=True)), (assigned, deadlines)
print("the library assigns the same deadlines, rounded up to a nanosecond")

# %% [markdown]
# ## The picture
#
# Figures 1 and 8 of the paper in one: the residual capacity, the two approximations of sections 4.2 and 4.3 with the
# parameters of Figure 8, and the staircase of what the packets demand, which touches `E` and never crosses it.

# %%
figure_, (left, right) = figure(1, 2, width=9, height=4)
residual.plot(left, end="35 ms", color=GREY, linestyle=":", label="R(t)")
E.plot(left, end="35 ms", color=BLACK, label="E(t)")
for n, colour in ((3, GREEN), (8, BLUE)):
    steps = sorted((deadlines[n] - release, sum(size for _, size in packets[i:n + 1]))
                   for i, (release, _) in enumerate(packets[:n + 1]))
    left.step([0, *(float(t) for t, _ in steps), 0.035], [0, *(size for _, size in steps), steps[-1][1]], where="post",
              color=colour, label=f"demand of packets 1 to {n + 1}")
left.set(title="What best effort may demand", ylim=(-2000, 32000))
left.legend(loc="upper left")

E.plot(right, end="600 ms", color=BLACK, label="E(t)")
Curve([(0, 0), ("15 ms", 0)], "370530 B/s").plot(right, end="600 ms", color=ORANGE, label="shifted line")
Curve([(0, 0), ("463 ms", Fraction(358530 * 463, 1000))], "450000 B/s").plot(right, end="600 ms", color=GREEN,
                                                                           label="two segments")
right.set(title="Two lower bounds of it (Figure 8)")
right.legend(loc="upper left")

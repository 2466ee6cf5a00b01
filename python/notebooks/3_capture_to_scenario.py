# %% [markdown]
# # From a capture to an admitted scenario
#
# A capture of an access link becomes a scenario: envelopes of its flows, deadlines, the least rate at which the deadlines
# can be promised, and the delays of every packet of the capture under that promise.

# %%
import laxity
import numpy
import polars
from laxity import Envelope

from common import BLUE, CAPTURES, GREEN, GREY, ORANGE, PURPLE, RED, SMALL, figure

CAPTURE = CAPTURES / "access-link.pcap"

# %% [markdown]
# ## Flows
#
# Three telephone calls and two videos have code points and ports ([the capture](../../captures/README.md)); they get
# deadlines. The rest is best effort.

# %%
REALTIME = {
    "voice": ({"dscp": "EF"}, "10 ms"),
    "video-25": ({"dscp": "AF41", "protocol": "udp", "dport": "5010-5011"}, "60 ms"),
    "video-30": ({"dscp": "AF41", "protocol": "udp", "dport": "5012-5013"}, "60 ms"),
}
BEST_EFFORT = {
    "names": ({"protocol": "udp", "sport": 53}, 8),
    "web": ({"protocol": "tcp", "sport": 80}, 4),
    "bulk": ({"protocol": "tcp", "sport": 5201}, 1),
}

# %% [markdown]
# ## Envelopes
#
# The smallest bound of up to `buckets` token buckets to which every packet conforms. More buckets follow the recorded
# traffic more closely and let more flows be admitted.

# %%
envelopes = {name: Envelope.from_capture(CAPTURE, match, buckets=4) for name, (match, _) in REALTIME.items()}
for name, envelope in envelopes.items():
    buckets = ", ".join(f"{burst} B + {rate / 1e6:.3f} Mbit/s" for burst, rate in envelope.lines)
    print(f"{name}: packets of up to {envelope.max_packet} B; {buckets}")

# %% [markdown]
# ## Admission
#
# `check` decides exactly, in less than a millisecond, whether all deadlines are kept, so the least rate of the link is found
# by bisection.

# %%
def scenario(rate: int, buckets: int = 4) -> laxity.Scenario:
    bounds = envelopes if buckets == 4 else {name: Envelope.from_capture(CAPTURE, match, buckets=buckets)
                                             for name, (match, _) in REALTIME.items()}
    return laxity.Scenario.from_dict({
        "link": {"rate": rate, "max_packet": "1514 B"},
        "policy": {"use": "exact"},
        "realtime": [{"name": name, "deadline": deadline, "match": match,
                      "envelope": {"buckets": [{"burst": b, "rate": r} for b, r in bounds[name].lines]}}
                     for name, (match, deadline) in REALTIME.items()],
        "best_effort": [{"name": name, "match": match, "weight": weight} for name, (match, weight) in BEST_EFFORT.items()],
    })


def least_rate(buckets: int) -> int:
    low, high = 1_000_000, 100_000_000
    while high - low > 1_000:
        middle = (low + high) // 2
        if scenario(middle, buckets).check():
            high = middle
        else:
            low = middle
    return high


for buckets in (1, 2, 4):
    print(f"{buckets} bucket{'s' * (buckets > 1)} a flow: the deadlines can be promised from {least_rate(buckets) / 1e6:.2f} Mbit/s on")

# %% [markdown]
# At 12 Mbit/s there is room; the verdict says how much for each flow. The scenario can be kept as a file, for
# `laxity link up`.

# %%
link = scenario(12_000_000)
verdict = link.check()
assert verdict
print(verdict)
print(link.to_toml()[:600], "...")

# %% [markdown]
# ## Replay
#
# Every packet of the capture again, under three policies. No packet of an admitted flow is late. The senders of the
# capture do not react to the simulated link.

# %%
POLICIES = ["background", "exact", "slack"]
packets = link.simulate(POLICIES, trace=CAPTURE, record=True).record("packets").to_polars().with_columns(
    delay=(polars.col("departure_ns") - polars.col("arrival_ns")) / 1e6)
late = packets.filter(polars.col("flow").is_in(list(REALTIME)) & (polars.col("departure_ns") > polars.col("deadline_ns")))
assert late.is_empty()
print(packets.group_by("policy", "flow").agg(polars.len().alias("packets"), polars.col("delay").mean().round(2).alias("mean ms"),
                                           polars.col("delay").max().round(2).alias("max ms")).sort("flow", "policy"))

# %% [markdown]
# ## The picture
#
# Left: the most that a video sent within any interval of the capture, below its envelope. Right: the delays, and where the
# deadline is.

# %%
def most_sent(times, sizes, lengths):
    """The most bytes within any closed interval of these lengths, in ns."""
    before = numpy.concatenate([[0], numpy.cumsum(sizes)])
    starts = numpy.arange(len(times))
    return [int((before[numpy.searchsorted(times, times + length, side="right")] - before[starts]).max()) for length in lengths]


figure_, (left, middle, right) = figure(1, 3, width=11, height=4)
lengths = numpy.linspace(0, 0.25, 60 if SMALL else 250)
for name, colour in (("video-25", BLUE), ("video-30", ORANGE), ("voice", GREEN)):
    own = packets.filter((polars.col("flow") == name) & (polars.col("policy") == "exact")).sort("arrival_ns")
    sent = most_sent(own["arrival_ns"].to_numpy().astype("i8"), own["bytes"].to_numpy().astype("i8"),
                     (lengths * 1e9).astype("i8"))
    left.step(lengths * 1000, numpy.array(sent) / 1000, where="post", color=colour, linewidth=1)
    left.plot(lengths * 1000, envelopes[name](lengths) / 1000, "--", color=colour, label=name)
    assert (envelopes[name](lengths) >= numpy.array(sent) - 1e-6).all()
left.set(title="Sent, and envelopes (dashed)", xlabel="length of the interval in ms", ylabel="kB")
left.legend()
for axes, names in ((middle, ["video-25"]), (right, ["web", "bulk"])):
    for policy, colour in zip(POLICIES, (GREY, BLUE, PURPLE)):
        own = packets.filter(polars.col("flow").is_in(names) & (polars.col("policy") == policy))["delay"].drop_nulls()
        delays = numpy.sort(own.to_numpy())
        axes.plot(delays, 1 - numpy.arange(len(delays)) / len(delays), color=colour, label=policy)
    axes.set(yscale="log", xlabel="delay in ms", title=" and ".join(names))
middle.axvline(60, color=RED, linestyle="--", linewidth=1)
middle.annotate("deadline", (60, 0.5), color=RED, rotation=90, ha="right", fontsize=8)
middle.set_ylabel("part of the packets with a longer delay")
right.legend()

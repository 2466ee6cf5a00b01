# %% [markdown]
# # What a link promises, beside HFSC and CAKE
#
# The same capture through the same link, under Laxity and under HFSC (Stoica, Zhang and Ng, SIGCOMM 1997): what either
# promises before the first packet, and what the packets then see. CAKE promises nothing, and has no model here; its numbers
# are measured ones of another load, from the results of this repository.

# %%
from fractions import Fraction

import laxity
import polars
from laxity import Curve

from common import BLUE, CAPTURES, GREY, ORANGE, PURPLE, RED, ROOT, SCENARIOS, SKY, YELLOW, figure

scenario = laxity.Scenario.read(SCENARIOS / "captured-link.toml")
LINK, LARGEST = Fraction(12_000_000, 8), 1514
NS = 10 ** 9
DEADLINES = {"voice": Fraction(10, 1000), "video-25": Fraction(60, 1000), "video-30": Fraction(60, 1000)}
verdict = scenario.check()
assert verdict

# %% [markdown]
# ## Promises
#
# Laxity promises the deadlines of the file, and `check` computes the least that it could promise for each flow, all else
# unchanged.
#
# A class of HFSC with the real-time curve `rt` has the service curve `rt(t - L/C)` as long as the curves together do not
# exceed the link: a packet of other traffic, at most `L` long, may be on the wire ([the rules](../../docs/how-to/check-tc.md)).
# So a curve that serves the burst within the deadline less `L/C`, and the rate after it, keeps the deadline:

# %%
blocking = Fraction(-(-LARGEST * NS // LINK), NS)
least = {name: flow["min_deadline_ns"] / 1e6 for name, flow in verdict.to_dict()["flows"].items()}
curves = {}
for name, envelope in scenario.envelopes.items():
    # Curves begin and bend at whole nanoseconds.
    within = Fraction((DEADLINES[name] - blocking) * NS // 1, NS)
    curves[name] = Curve.umax_dmax(envelope.burst, within, envelope.rate)
    assert envelope.delay_bound(curves[name].later(blocking)) <= DEADLINES[name]
    print(f"{name:9} {float(curves[name].pieces[0][2]) / 1e6:.2f} Mbit/s for {float(within) * 1000:.2f} ms, then "
          f"{float(curves[name].rate) / 1e6:.2f} Mbit/s")
first, *others = curves.values()
assert sum(others, start=first).above(Curve.rate_latency("12 Mbit/s", 0)) is None, "the curves exceed the link"

# %% [markdown]
# `plan` makes such a tree, in values that `tc` can express, with shares for best effort by weight.

# %%
plan = scenario.plan("hfsc")
assert plan.guaranteed
print("\n".join(command for command in plan.commands if " class add " in command))
for flow in plan.to_dict()["flows"]:
    print(f"{flow['flow']:9} deadline {flow['deadline_ns'] / 1e6:3.0f} ms; HFSC guarantees {flow['delay_ns'] / 1e6:6.3f} ms; "
          f"Laxity can promise {least[flow['flow']]:6.3f} ms")

# %% [markdown]
# ## The capture
#
# Every packet through each of them, in the same engine. The plan's model of HFSC follows `sch_hfsc` of Linux and is tested
# against it ([how](../../docs/how-to/plan-tc.md)).

# %%
HFSC = "hfsc, planned"
POLICIES = [HFSC, "background", "exact", "slack"]
CAPTURE = CAPTURES / "access-link.pcap"
runs = [scenario.simulate({HFSC: plan}, trace=CAPTURE, record=True), scenario.simulate(POLICIES[1:], trace=CAPTURE, record=True)]
packets = polars.concat([run.record("packets").to_polars().with_columns(polars.col("policy", "flow").cast(str)) for run in runs])
packets = packets.with_columns(delay=(polars.col("departure_ns") - polars.col("arrival_ns")) / 1e6)
flows = [name for name in scenario.names if name in packets["flow"].unique()]
summary = packets.group_by("policy", "flow").agg(mean=polars.col("delay").mean(), greatest=polars.col("delay").max())
values = {(policy, flow): (mean, greatest) for policy, flow, mean, greatest in summary.iter_rows()}
print(f"{'mean and greatest delay in ms':32}" + "".join(f"{policy:>22}" for policy in POLICIES))
for flow in flows:
    print(f"{flow:32}" + "".join(f"{values[policy, flow][0]:12.2f}{values[policy, flow][1]:10.2f}" for policy in POLICIES))
for policy in POLICIES:
    assert all(values[policy, name][1] <= float(DEADLINES[name]) * 1000 for name in DEADLINES), policy

# %% [markdown]
# Both keep every deadline. A curve of HFSC asks for service from the first byte on, so real time goes sooner than it must;
# Laxity lets best effort go first for as long as the deadlines permit. `names` and `other` are a few dozen packets.
#
# ## CAKE, measured
#
# From [the comparison in the kernel](../../docs/results/link-compare.md), Linux 6.18: voice, video and bursty best effort on
# 10 Mbit/s at 90 % load, another load than the capture, so only rows of this table can be compared with each other. Late and
# lost packets are of 39,000 at 80, 90 and 95 % together.

# %%
lines = (ROOT / "docs/results/link-compare.md").read_text().splitlines()
head = next(i for i, line in enumerate(lines) if line.startswith("| discipline | 80 %"))
measured = {}
for line in lines[head + 2:]:
    if not line.startswith("|"):
        break
    cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
    measured[cells[0]] = {"90": float(cells[2]), "late": int(cells[8]), "lost": int(cells[9])}
SHOWN = ["slack", "exact", "fq_codel", "hfsc-tuned", "hfsc", "cake", "fifo", "prio"]
for name in SHOWN:
    row = measured[name]
    print(f"{name:11} best effort waits {row['90']:6.2f} ms; real-time packets: {row['late']} late, {row['lost']} lost")

# %% [markdown]
# ## The picture

# %%
figure_, (left, middle, right) = figure(1, 3, width=12, height=4.4, width_ratios=[1.2, 1.2, 1])
colours = dict(zip(POLICIES, (ORANGE, GREY, BLUE, PURPLE)))
for axis, names, title in ((left, list(DEADLINES), "Real time: greatest delay, and promises"),
                           (middle, ["web", "bulk"], "Best effort: mean delay")):
    for at, policy in enumerate(POLICIES):
        heights = [values[policy, name][1 if axis is left else 0] for name in names]
        axis.bar([i + (at - 1.5) * 0.2 for i in range(len(names))], heights, 0.19, color=colours[policy], label=policy)
    axis.set(title=title, ylabel="ms", xticks=range(len(names)), xticklabels=names)
    axis.grid(False, axis="x")
for i, name in enumerate(DEADLINES):
    left.hlines(float(DEADLINES[name]) * 1000, i - 0.45, i + 0.45, color=RED, linewidth=1.5, label="promised by both" if i == 0 else None)
    left.hlines(least[name], i - 0.45, i + 0.45, color="black", linestyle=":",
                linewidth=1.2, label="least that Laxity can promise" if i == 0 else None)
left.set_ylim(0, 86)
left.legend(fontsize=7.5, loc="upper left", ncols=2)
middle.legend(fontsize=7.5)
for at, name in enumerate(reversed(SHOWN)):
    row = measured[name]
    broken = row["late"] + row["lost"]
    right.barh(at, row["90"], color=BLUE if name in ("slack", "exact") else SKY if not broken else YELLOW)
    right.annotate(f"{broken} late or lost" if broken else "", (row["90"], at), xytext=(3, 0),
                   textcoords="offset points", va="center", fontsize=7)
right.set(title="Measured in Linux, another load", xlabel="best effort at 90 %: mean delay in ms", yticks=range(len(SHOWN)),
          yticklabels=list(reversed(SHOWN)), xlim=(0, 42))
right.grid(False, axis="y")

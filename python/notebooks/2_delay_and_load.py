# %% [markdown]
# # Delay against load, for every policy
#
# The link and the flows of Chakraborty, Gries and Thiele (RTAS 2002, Tables 3 and 4), at several rates of the link: the
# slower it is, the higher the load. Each policy sees the same packets under a seed, and the bands are 95 % confidence
# intervals of the mean over seeds, by Student's t.

# %%
import re

import laxity
import polars

from common import (BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SCENARIOS, SKY, SMALL, YELLOW, figure)

RATES = [8, 9, 12] if SMALL else [7.8, 8, 8.5, 9, 10, 11, 12, 14, 18]
SEEDS = range(1, 4) if SMALL else range(1, 11)
DURATION = "2 s" if SMALL else "30 s"
COLOURS = {
    "fifo": RED, "background": GREY, "proportional-share": YELLOW, "tbs": SKY, "shifted-line": ORANGE,
    "two-segment": GREEN, "algorithm-3": "#44aa99", "exact": BLUE, "slack": PURPLE, "best-effort-first": BLACK,
}
described = {policy["name"]: policy for policy in laxity.policies("link")}
for name in COLOURS:
    print(f"{name:18} {described[name]['summary']}")

# %% [markdown]
# `algorithm-3-printed`, which misses deadlines, is left out; `fifo` and `best-effort-first`, which miss them too, are
# bounds. The scenario fixes the parameters of the two approximations for 10 Mbit/s; without these lines they are fitted to
# each rate.

# %%
text = (SCENARIOS / "access-link.toml").read_text()
text = re.sub(r"^(shifted-line|two-segment) = .*\n", "", text, flags=re.M)


def at_rate(mbit: float) -> laxity.Scenario:
    return laxity.Scenario.from_toml(text.replace('rate = "10 Mbit/s"', f'rate = "{mbit} Mbit/s"', 1))


frames = [at_rate(rate).simulate(list(COLOURS), seeds=SEEDS, duration=DURATION).to_polars()
          .with_columns(rate=polars.lit(float(rate))) for rate in RATES]
rows = polars.concat(frames)
print(f"{rows['packets'].sum():,} packets sent in {len(RATES) * len(SEEDS) * len(COLOURS)} simulations")

# %% [markdown]
# The mean delay of best effort is over the packets of its three classes; load is what the link was busy.

# %%
runs = (rows.filter(polars.col("kind") == "best_effort")
        .group_by("rate", "policy", "seed")
        .agg(delay=(polars.col("mean_ms") * polars.col("packets")).sum() / polars.col("packets").sum(),
             load=polars.col("utilisation").mean() * 100))
misses = (rows.filter(polars.col("kind") == "realtime").group_by("rate", "policy")
          .agg(missed=100 * polars.col("deadline_misses").sum() / polars.col("packets").sum()))
late = misses.filter(polars.col("missed") > 0)["policy"].unique().to_list()
print("policies with late packets:", ", ".join(sorted(late)))
# The guarantee holds where the flows are admitted.
admitted = {float(rate) for rate in RATES if at_rate(rate).check()}
broken = misses.filter((polars.col("missed") > 0) & polars.col("rate").is_in(admitted)
                       & polars.col("policy").is_in([n for n in COLOURS if described[n]["keeps_deadlines"]]))
assert broken.is_empty(), broken

# %% [markdown]
# How much a policy gains over `background`, seed by seed: under a seed both see the same packets, so the difference varies
# less than each mean.

# %%
highest = min(RATES)
by_seed = {name: dict(runs.filter((polars.col("policy") == name) & (polars.col("rate") == highest))
                      .select("seed", "delay").iter_rows()) for name in COLOURS}
for name in ("shifted-line", "two-segment", "exact", "slack"):
    gain = laxity.paired(by_seed["background"], by_seed[name])
    print(f"{name:14} {gain.mean:6.2f} ms less at {highest} Mbit/s ({gain.low:.2f} to {gain.high:.2f})")

# %% [markdown]
# ## The picture

# %%
figure_, (left, right) = figure(1, 2, width=10, height=4.4)
# Where lines lie on each other, the first are wider.
for place, (name, colour) in enumerate(COLOURS.items()):
    width = 3.4 - 0.25 * place
    points = []
    for rate in RATES:
        own = runs.filter((polars.col("policy") == name) & (polars.col("rate") == rate))
        points.append((own["load"].mean(), laxity.interval(own["delay"].to_list())))
    points.sort()
    loads = [load for load, _ in points]
    bound = "--" if not described[name]["keeps_deadlines"] else "-"
    left.plot(loads, [i.mean for _, i in points], bound, color=colour, label=name, linewidth=width)
    left.fill_between(loads, [max(i.low, 0.01) for _, i in points], [i.high for _, i in points], color=colour, alpha=0.15,
                      linewidth=0)
    own = misses.filter(polars.col("policy") == name).sort("rate", descending=True)
    right.plot(loads, own["missed"], bound, color=colour, linewidth=width)
left.set(title="Best effort: mean delay", xlabel="load in %", ylabel="ms", yscale="log")
left.legend(fontsize=7.5, ncols=2)
right.set(title="Real time: packets after their deadline", xlabel="load in %", ylabel="%")

# %% [markdown]
# # BEBS, BeRate and EEVDF on one recorded desktop
#
# Threads recorded by the kernel's tracefs ([captures](../../captures/README.md)) run again, under schedulers that they never
# ran under: BEBS (Banachowski, Bisson and Brandt, RTSS 2004) and its variant `bebs-credit`, BeRate (Banachowski and
# Brandt, WPDRTS 2003), and EEVDF, the scheduler of Linux since 6.6. A replay keeps what a recording says of the threads,
# how long they compute and what they wait for; when they run is up to the policy.

# %%
import laxity
import numpy
import polars

from common import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SCENARIOS, SMALL, YELLOW, figure

# %% [markdown]
# ## Tasks
#
# The recording has two shells that compute, a thread that computes 3 ms in every 20 ms, and lines through a pipe, 1.6 s on
# two CPUs. Here it starts every second, so recordings overlap, on one CPU, beside a video and an editor that are modelled.
# Nobody reserves anything: what each task is, the scheduler has to find out.

# %%
SECONDS = 3 if SMALL else 12
SEEDS = [1] if SMALL else [1, 2, 3, 4, 5]
recordings = "".join(f"""
[[recording]]
file = "../captures/sched-ftrace.txt"
sleeps = "wakers"
only = ["work.sh", "sh", "python3", "bash", "basename", "readlink", "sleep"]
join = "{second} s"
""" for second in range(SECONDS))
TASKS = """
[cpu]

[policy]
use = "bebs"
# The slice of Linux on one CPU.
eevdf = { slice = "0.7 ms" }

[[task]]
name = "video"
work = { period = "40 ms", cost = { gop = ["8 ms", "1 ms"] } }

[[task]]
name = "editor"
work = { burst = { normal = ["3 ms", "1 ms"] }, think = { exponential = "150 ms" } }
"""
scenario = laxity.Scenario.from_toml(TASKS + recordings, SCENARIOS / "desktop-of-a-notebook.toml")
POLICIES = {"bebs": GREEN, "bebs-credit": BLUE, "berate": PURPLE, "eevdf": ORANGE}
runs = scenario.simulate(list(POLICIES), seeds=SEEDS, duration=f"{SECONDS} s", record=True)
print(f"{len(scenario.names)} threads, {SECONDS} s, {len(SEEDS)} seeds; slices of CPU time: {len(runs.record('slices')):,}")

# %% [markdown]
# ## What each task sees
#
# The video is late when a frame is not ready at the next. The recorded periodic thread has no deadline; its latency is the
# time from a wake-up until it runs.

# %%
table = runs.to_polars().with_columns(thread=polars.col("task").cast(str).str.split(":").list.first().str.split("#").list.first())
video = table.filter(polars.col("task") == "video").group_by("policy", maintain_order=True).agg(
    polars.col("jobs").sum().alias("frames"), polars.col("deadline_misses").sum().alias("late"))
editor = table.filter(polars.col("task") == "editor").group_by("policy", maintain_order=True).agg(
    polars.col("mean_response_ms").mean().round(2).alias("editor mean ms"), polars.col("max_response_ms").max().round(1).alias("max"))
periodic = table.filter(polars.col("task").cast(str).str.starts_with("python3")).group_by("policy", maintain_order=True).agg(
    polars.col("mean_latency_ms").mean().round(2).alias("periodic thread, mean latency ms"))
shells = table.filter(polars.col("task").cast(str).str.starts_with("sh:")).group_by("policy", maintain_order=True).agg(
    polars.col("max_wait_ms").max().round(0).alias("a computing shell, longest wait ms"))
for frame in (video, editor, periodic, shells):
    print(frame)

# %% [markdown]
# ## The picture
#
# Above: 400 ms of the schedule under each policy. Below: how long frames and keystrokes take.

# %%
KINDS = {"video": BLUE, "editor": ORANGE, "python3": GREEN, "sh": GREY, "other": YELLOW}


def kind_of(task):
    name = task.partition(":")[0]
    return name if name in KINDS else "other"


slices = runs.record("slices").to_polars().filter(polars.col("seed") == 1)
jobs = runs.record("jobs").to_polars()
figure_, axes = figure(3, 4, width=11, height=7.5, height_ratios=[1.1, 1.1, 1.6])
grid = axes[0, 0].get_gridspec()
for axis in axes.flat:
    axis.remove()
start = 1_335_000_000
for at, policy in enumerate(POLICIES):
    axis = figure_.add_subplot(grid[at // 2, 2 * (at % 2):2 * (at % 2) + 2])
    shown = slices.filter((polars.col("policy") == policy) & (polars.col("to_ns") > start) & (polars.col("from_ns") < start + 400_000_000))
    for task, begin, end in shown.select(polars.col("task").cast(str), "from_ns", "to_ns").iter_rows():
        row = list(KINDS).index(kind_of(task))
        axis.broken_barh([((begin - start) / 1e6, (end - begin) / 1e6)], (row - 0.4, 0.8), color=list(KINDS.values())[row])
    axis.set(title=f"{policy}: the CPU", xlim=(0, 400), ylim=(4.6, -0.6), yticks=range(5),
             yticklabels=["video", "editor", "periodic", "computing", "others"])
    axis.grid(False)
    if at >= 2:
        axis.set_xlabel("ms")
for place, (task, title) in enumerate([("video", "Video: frames that take longer"), ("editor", "Editor: keystrokes that take longer")]):
    axis = figure_.add_subplot(grid[2, 2 * place:2 * place + 2])
    for policy, colour in POLICIES.items():
        own = jobs.filter((polars.col("policy") == policy) & (polars.col("task") == task) & polars.col("end_ns").is_not_null())
        took = numpy.sort((own["end_ns"] - own["release_ns"]).to_numpy() / 1e6)
        axis.step(took, 1 - numpy.arange(len(took)) / len(took), where="post", color=colour, label=policy)
    axis.set(title=title, xlabel="ms", ylabel="part", yscale="log")
    if task == "video":
        axis.axvline(40, color=BLACK, linestyle="--", linewidth=1)
        axis.annotate("next frame", (40, 0.002), rotation=90, ha="right", fontsize=8)
    axis.legend()

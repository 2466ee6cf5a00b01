/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Migration of CPU-bound tasks by the rules of nearness.h, in a model without queues: on each CPU the
 * tasks take turns of 3 ms, and CPUs look at the others at intervals of their own.
 *
 * Input: u32 CPUs, the struct lx_place of each, u32 tasks, the first CPU of each, u32 seconds. Prints
 * for each CPU the CPUs at which it looks when idle, in order; then the service of each task in ms;
 * then the migrations to the own cache, to the rest of the node, to other nodes; then the longest time
 * in ms for which a task would have got more on another CPU.
 */

#include <stdio.h>
#include <laxity/nearness.h>

#define MOST_CPUS 64
#define MOST_TASKS 256

static struct lx_place places[MOST_CPUS];
static struct lx_balance balance[MOST_CPUS];
static u32 cpus, count, seconds;
static u32 home[MOST_TASKS], next[MOST_CPUS], migrations[LX_LEVELS];
static u64 random_state = 1;
static u64 next_look[MOST_CPUS], arrived[MOST_TASKS], service[MOST_TASKS], uneven_since, longest_uneven;

static void get(void *to, size_t bytes)
{
	if (fread(to, bytes, 1, stdin) != 1)
		__builtin_trap();
}

static u32 below(u32 n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (random_state >> 33) % n;
}

static u32 tasks_of(u32 cpu)
{
	u32 i, n = 0;

	for (i = 0; i < count; i++)
		n += home[i] == cpu;
	return n;
}

/* The task whose turn it is on a CPU; the others wait. */
static u32 running(u32 cpu)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (home[(next[cpu] + i) % count] == cpu)
			return (next[cpu] + i) % count;
	return LX_NONE;
}

static int steal(u32 cpu, u32 from, int oldest, u64 now)
{
	u32 i, found = LX_NONE, runs = running(from), level;

	for (i = 0; i < count; i++) {
		if (home[i] != from || (!oldest && i == runs))
			continue;
		if (found == LX_NONE || (oldest && arrived[i] < arrived[found]))
			found = i;
	}
	if (found == LX_NONE || found == runs)
		return 0;
	level = lx_level_of(&places[cpu], places[from].first[LX_SELF]);
	migrations[level]++;
	home[found] = cpu;
	arrived[found] = now;
	return 1;
}

/* As lx_load_balance in scx/balance.h. */
static void look(u32 cpu, u64 now)
{
	/* At some looks another task is ready for a moment. */
	struct lx_load load = { .cpu = cpu, .tasks = tasks_of(cpu) + !below(8), .capacity = 1 };
	struct lx_balance *b = &balance[cpu];
	struct lx_survey s;
	int in_cache, in_node, beyond, turn;
	u32 k;

	lx_survey_start(&s, &load, b, now);
	for (k = 0; k < cpus; k++) {
		u32 level = lx_level_of(&places[cpu], places[k].first[LX_SELF]);

		load.cpu = k;
		load.tasks = tasks_of(k) + !below(64);
		if (k != cpu)
			lx_survey_add(&s, &load, level, &balance[k]);
	}
	in_cache = lx_pulls_in_cache(&s);
	in_node = lx_pulls_in_node(&s, b);
	beyond = lx_pulls_from_beyond(&s, b);
	turn = lx_takes_turn(&s, b);
	if (in_cache && steal(cpu, s.in_cache.cpu, 0, now))
		return;
	if (in_node && steal(cpu, s.in_node.cpu, 0, now))
		b->cache_since = 0;
	else if (beyond && steal(cpu, s.beyond.cpu, 0, now))
		b->node_since = 0;
	else if (turn)
		lx_turn_tried(b, &balance[s.giver.cpu], steal(cpu, s.giver.cpu, 1, now), now);
}

/* Whether a task would get more on another CPU. */
static int is_uneven(void)
{
	u32 k, most = 0, least = ~0U;

	for (k = 0; k < cpus; k++) {
		u32 n = tasks_of(k);

		most = n > most ? n : most;
		least = n < least ? n : least;
	}
	return least + 1 < most;
}

int main(void)
{
	u32 i, k;
	u64 ms;

	get(&cpus, sizeof(cpus));
	if (cpus > MOST_CPUS)
		__builtin_trap();
	get(places, cpus * sizeof(places[0]));
	get(&count, sizeof(count));
	if (count > MOST_TASKS)
		__builtin_trap();
	get(home, count * sizeof(home[0]));
	get(&seconds, sizeof(seconds));
	for (k = 0; k < cpus; k++) {
		for (i = 1; i < cpus; i++)
			printf("%u ", places[lx_place_to_look(&places[k], i)].cpu);
		printf("\n");
	}
	for (ms = 1; ms <= seconds * 1000ULL; ms++) {
		for (k = 0; k < cpus; k++) {
			u32 task = running(k);

			/* A CPU-bound task may have the CPU for longer than LX_LOOK_NS. */
			if (ms >= next_look[k]) {
				look(k, ms * 1000000);
				next_look[k] = ms + 50 + below(50);
			}
			if (task == LX_NONE)
				continue;
			service[task]++;
			if (ms % 3 == 0)
				next[k] = (task + 1) % count;
		}
		uneven_since = is_uneven() ? uneven_since ? uneven_since : ms : 0;
		if (uneven_since && ms - uneven_since > longest_uneven)
			longest_uneven = ms - uneven_since;
	}
	for (i = 0; i < count; i++)
		printf("%llu ", service[i]);
	printf("\n%u %u %u\n%llu\n", migrations[LX_SAME_CACHE], migrations[LX_SAME_NODE],
	       migrations[LX_MACHINE], longest_uneven);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * From which CPU a best-effort task migrates: the order in which an idle CPU looks for one, and when
 * a busy CPU pulls one.
 *
 * CPUs are sorted by NUMA node, shared cache and core, so each of these is a range of places. A busy
 * CPU pulls a task that would get more here. Within a cache it does so at the next look; from another
 * cache or node it pulls at once only what would get a multiple, else after the imbalance has been
 * seen at every look for a while. So distance delays a migration and never prevents one: no task gets
 * less for longer than LX_NODE_PATIENCE_NS and a look because it is far.
 *
 * Where no migration would give a task more, as with three tasks on two CPUs, the CPUs take turns as
 * the less loaded one: the task that has been longest on the busier CPU migrates.
 */
#ifndef LAXITY_NEARNESS_H
#define LAXITY_NEARNESS_H

#include <laxity/types.h>

/* Interval between the looks of a busy CPU at the others, in ns. */
#define LX_LOOK_NS 50000000ULL
/* Time for which a small imbalance must last before a task crosses to another cache, or node. */
#define LX_CACHE_PATIENCE_NS 200000000ULL
#define LX_NODE_PATIENCE_NS 1000000000ULL
/* A task that would get so many times as much crosses at once. */
#define LX_CACHE_FACTOR 2
#define LX_NODE_FACTOR 4
/* Interval between turns of a CPU, and between those across nodes. */
#define LX_TURN_NS 1000000000ULL
#define LX_NODE_TURN_NS 4000000000ULL

/* What a CPU shares with another one. */
enum lx_level {
	LX_SELF,
	LX_SAME_CORE,
	LX_SAME_CACHE,
	LX_SAME_NODE,
	LX_MACHINE,
	LX_LEVELS,
};

/* Entry i of an array: the CPU at place i; and of CPU i, for each level, the first place of the CPUs
 * that share it and the one after the last. */
struct lx_place {
	u32 cpu;
	u32 first[LX_LEVELS];
	u32 end[LX_LEVELS];
};

/* Level that a CPU shares with the one at a place. */
LX_INLINE u32 lx_level_of(const struct lx_place *own, u32 place)
{
	if (place >= own->first[LX_SAME_CACHE] && place < own->end[LX_SAME_CACHE])
		return LX_SAME_CACHE;
	if (place >= own->first[LX_SAME_NODE] && place < own->end[LX_SAME_NODE])
		return LX_SAME_NODE;
	return LX_MACHINE;
}

/* The i-th place at which an idle CPU looks, from 1 on: its core, then the rest of its cache, of its
 * node, of the machine. Within each it starts after its own place, so that several idle CPUs do not
 * all begin with the same one. */
LX_INLINE u32 lx_place_to_look(const struct lx_place *own, u32 i)
{
	u32 level = LX_SAME_CORE, inner_first, inner_end, first, end, n;

	/* As many places as the level has without the CPU itself come before the next level. */
	if (i >= own->end[LX_SAME_CORE] - own->first[LX_SAME_CORE])
		level = LX_SAME_CACHE;
	if (i >= own->end[LX_SAME_CACHE] - own->first[LX_SAME_CACHE])
		level = LX_SAME_NODE;
	if (i >= own->end[LX_SAME_NODE] - own->first[LX_SAME_NODE])
		level = LX_MACHINE;
	barrier_var(level);
	if (level < LX_SAME_CORE || level > LX_MACHINE)
		return 0;
	inner_first = own->first[level - 1];
	inner_end = own->end[level - 1];
	first = own->first[level];
	end = own->end[level];
	n = i - (inner_end - inner_first);
	return n < end - inner_end ? inner_end + n : first + n - (end - inner_end);
}

/* Best-effort tasks that are ready on a CPU, and what reservations leave to them there. */
struct lx_load {
	u32 cpu;
	u32 tasks;
	u64 capacity;
};

LX_INLINE int lx_is_busier(u32 tasks, u64 capacity, const struct lx_load *than)
{
	return tasks * than->capacity > than->tasks * capacity;
}

/* State of a CPU for this. */
struct lx_balance {
	/* Time of the last look, and the tasks that were ready then. */
	u64 looked;
	u32 tasks;
	u32 padding;
	/* Time of the last turn that the CPU took part in. */
	u64 turned;
	/* Since when a task of another cache, or of another node, would get more here; there is a turn
	 * to take; and none could be taken (lx_seen_for). Zero for none of these. */
	u64 cache_since;
	u64 node_since;
	u64 turn_since;
	u64 failed_since;
};

/* What a CPU sees when it looks. */
struct lx_survey {
	struct lx_load own;
	u64 now;
	/* The busiest CPU of the own cache, of the rest of the node, and of the rest of the
	 * machine. */
	struct lx_load in_cache;
	struct lx_load in_node;
	struct lx_load beyond;
	/* The CPU that gives at the next turn, the time of its last turn, and its level. */
	struct lx_load giver;
	u64 giver_turned;
	u32 giver_level;
};

/* The tasks that were ready at a CPU's last look and still are in number: without those that run for
 * a moment. */
LX_INLINE u32 lx_lasting(u32 tasks, const struct lx_balance *b)
{
	return tasks < b->tasks ? tasks : b->tasks;
}

/* Starts a look of a CPU; `own` is its load. */
LX_INLINE void lx_survey_start(struct lx_survey *s, const struct lx_load *own, struct lx_balance *b,
			       u64 now)
{
	const struct lx_load none = { .cpu = LX_NONE, .capacity = 1 };

	s->own = *own;
	s->own.tasks = lx_lasting(own->tasks, b);
	s->now = now;
	s->in_cache = none;
	s->in_node = none;
	s->beyond = none;
	s->giver = none;
	s->giver_turned = 0;
	s->giver_level = LX_MACHINE;
	b->looked = now;
	b->tasks = own->tasks;
}

LX_INLINE void lx_keep_busier(struct lx_load *most, const struct lx_load *load)
{
	if (lx_is_busier(load->tasks, load->capacity, most))
		*most = *load;
}

/* Returns true if a CPU may give a task at a turn, which then gets as much as before, and precedes
 * the one found so far: it is busier, or its last turn was earlier. */
LX_INLINE int lx_gives_first(const struct lx_survey *s, const struct lx_load *load, u64 turned)
{
	if ((s->own.tasks + 1) * load->capacity > load->tasks * s->own.capacity ||
	    lx_is_busier(s->giver.tasks, s->giver.capacity, load))
		return 0;
	return lx_is_busier(load->tasks, load->capacity, &s->giver) || turned < s->giver_turned;
}

/* Adds another CPU. */
LX_INLINE void lx_survey_add(struct lx_survey *s, const struct lx_load *now_there, u32 level,
			     const struct lx_balance *b)
{
	struct lx_load load = *now_there;

	if (level <= LX_SAME_CACHE)
		lx_keep_busier(&s->in_cache, &load);
	load.tasks = lx_lasting(load.tasks, b);
	if (level == LX_SAME_NODE)
		lx_keep_busier(&s->in_node, &load);
	else if (level == LX_MACHINE)
		lx_keep_busier(&s->beyond, &load);
	if (lx_gives_first(s, &load, b->turned)) {
		s->giver = load;
		s->giver_turned = b->turned;
		s->giver_level = level;
	}
}

/* Returns true if a task would get more than `factor` times as much as on the CPU that it is on. */
LX_INLINE int lx_gains(const struct lx_survey *s, const struct lx_load *from, u32 factor)
{
	return (s->own.tasks + 1) * from->capacity * factor < from->tasks * s->own.capacity;
}

/* Time for which something has been seen at each look; notes it. A look without it halves that. */
LX_INLINE u64 lx_seen_for(u64 *since, int is_seen, u64 now)
{
	u64 length = *since ? now - lx_min(*since, now) : 0;

	if (is_seen)
		*since = now - length;
	else
		*since = length / 2 < LX_LOOK_NS ? 0 : now - length / 2;
	return is_seen ? length : 0;
}

LX_INLINE int lx_pulls_in_cache(const struct lx_survey *s)
{
	return lx_gains(s, &s->in_cache, 1);
}

LX_INLINE int lx_pulls_in_node(const struct lx_survey *s, struct lx_balance *b)
{
	u64 seen = lx_seen_for(&b->cache_since, lx_gains(s, &s->in_node, 1), s->now);

	return seen >= LX_CACHE_PATIENCE_NS || lx_gains(s, &s->in_node, LX_CACHE_FACTOR);
}

LX_INLINE int lx_pulls_from_beyond(const struct lx_survey *s, struct lx_balance *b)
{
	u64 seen = lx_seen_for(&b->node_since, lx_gains(s, &s->beyond, 1), s->now);

	return seen >= LX_NODE_PATIENCE_NS || lx_gains(s, &s->beyond, LX_NODE_FACTOR);
}

/* Returns true if the CPU takes a task from `giver` for a turn. */
LX_INLINE int lx_takes_turn(const struct lx_survey *s, struct lx_balance *b)
{
	u64 seen = lx_seen_for(&b->turn_since, s->giver.cpu != LX_NONE, s->now);

	return seen >= (s->giver_level == LX_MACHINE ? LX_NODE_TURN_NS : LX_TURN_NS) &&
	       s->now >= s->giver_turned + LX_TURN_NS;
}

/* The CPU has tried to take a turn. If it has failed for as long as a turn, it waits for another one,
 * and others may take this one. */
LX_INLINE void lx_turn_tried(struct lx_balance *b, struct lx_balance *giver, int is_taken, u64 now)
{
	u64 failed = lx_seen_for(&b->failed_since, !is_taken, now);

	if (is_taken) {
		/* Known to others before these two look again. */
		b->tasks++;
		giver->tasks -= giver->tasks > 0;
		giver->turned = now;
	} else if (failed < LX_TURN_NS) {
		return;
	}
	b->turned = now;
	b->turn_since = 0;
	b->failed_since = 0;
}

#endif

/* A periodic task that reserves CPU time for itself: 6 ms of work every 20 ms. */
#define _GNU_SOURCE
#include <laxity_reserve.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MS 1000000L

static long long now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

int main(int argc, char **argv)
{
	int jobs = argc > 1 ? atoi(argv[1]) : 100, deadline_misses = 0;
	/* A margin for interrupts, which count as well. */
	uint64_t runtime = 6500 * MS / 1000, period = 20 * MS;
	struct laxity_error why;
	int code;

	while ((code = laxity_reserve(LAXITY_THIS_THREAD, runtime, period, 0, NULL, &why))) {
		fprintf(stderr, "%s: %s\n", laxity_code_name(code), why.text);
		if (!why.max_runtime_ns || why.max_runtime_ns >= runtime)
			return 1;
		runtime = why.max_runtime_ns;
	}
	printf("reserved %lu us every %lu us\n", (long)runtime / 1000, (long)period / 1000);

	long long release = now(CLOCK_MONOTONIC) + period;
	for (int i = 0; i < jobs; i++) {
		struct timespec at = { release / (1000 * MS), release % (1000 * MS) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		for (long long end = now(CLOCK_THREAD_CPUTIME_ID) + 6 * MS;
		     now(CLOCK_THREAD_CPUTIME_ID) < end;)
			;
		release += period;
		deadline_misses += now(CLOCK_MONOTONIC) > release;
	}
	printf("jobs %d deadline_misses %d\n", jobs, deadline_misses);
	return laxity_release(LAXITY_THIS_THREAD, NULL);
}

/* A program of SCHED_DEADLINE that knows nothing of Laxity: each argument is a step, whose result it prints. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ull

struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static const char *result(long value)
{
	static char number[32];

	if (value >= 0)
		return "ok";
	switch (errno) {
	case EBUSY: return "EBUSY";
	case EINVAL: return "EINVAL";
	case EPERM: return "EPERM";
	case ESRCH: return "ESRCH";
	case EFAULT: return "EFAULT";
	case E2BIG: return "E2BIG";
	case EBADF: return "EBADF";
	}
	snprintf(number, sizeof(number), "%d", errno);
	return number;
}

/* A thread that waits; its id. */
static pid_t other;
static void *wait_forever(void *unused)
{
	__atomic_store_n(&other, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	pause();
	return unused;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Six arguments, one of which is an offset, arrive. */
static int passes_six(void)
{
	int file = memfd_create("six", 0);
	char *map;

	if (file < 0 || ftruncate(file, 8192) || pwrite(file, "six", 4, 4096) != 4)
		return 0;
	map = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_SHARED, file, 4096);
	return map != MAP_FAILED && !strcmp(map, "six");
}

int main(int count, char **steps)
{
	int (*wrapper)(pid_t, struct attr *, unsigned) = dlsym(RTLD_DEFAULT, "sched_setattr");
	struct attr attr = { .size = sizeof(attr) };
	pthread_t thread;
	pid_t task;
	int i;

	pthread_create(&thread, NULL, wait_forever, NULL);
	while (!(task = __atomic_load_n(&other, __ATOMIC_SEQ_CST)))
		usleep(1000);
	for (i = 1; i < count; i++) {
		const char *step = steps[i];
		double runtime, period;
		long value;

		if (sscanf(step, "set %lf %lf", &runtime, &period) == 2) {
			struct attr set = { .size = sizeof(set), .policy = 6, .runtime = runtime * MS, .deadline = period * MS };

			value = syscall(SYS_sched_setattr, strstr(step, "other") ? task : 0, &set, 0);
			printf("%s: %s\n", step, result(value));
		} else if (!strcmp(step, "wrapper")) {
			struct attr set = { .size = sizeof(set), .policy = 6, .runtime = MS, .deadline = 5 * MS, .period = 50 * MS };

			puts(!wrapper ? "wrapper: none" : wrapper(0, &set, 0) ? "wrapper: failed" : "wrapper: ok");
		} else if (!strncmp(step, "get", 3)) {
			value = syscall(SYS_sched_getattr, strstr(step, "other") ? task : 0, &attr, sizeof(attr), 0);
			printf("%s: %s %u", step, result(value), attr.policy);
			if (attr.policy == 6)
				printf(" %g %g %g", (double)attr.runtime / MS, (double)attr.deadline / MS,
				       (double)attr.period / MS);
			puts("");
		} else if (sscanf(step, "policy %lf %lf", &runtime, &period) == 2) {
			struct attr set = { .size = sizeof(set), .policy = runtime, .priority = period };

			/* Only root may lower it. */
			set.nice = getpriority(PRIO_PROCESS, 0);

			value = syscall(SYS_sched_setattr, 0, &set, 0);
			printf("%s: %s\n", step, result(value));
		} else if (!strcmp(step, "yield")) {
			double start = now();

			for (int n = 0; n < 5; n++)
				sched_yield();
			syscall(SYS_sched_yield);
			/* The first period has begun already. */
			printf("yield: %s\n", now() - start > 0.04 ? "waits" : "goes on");
		} else if (sscanf(step, "jobs %lf %lf", &runtime, &period) == 2) {
			double begin = now(), start = begin;
			int late = 0;

			for (int n = 0; n < 100; n++) {
				struct timespec end, used;

				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
				do
					clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
				while ((used.tv_sec - end.tv_sec) * 1e3 + (used.tv_nsec - end.tv_nsec) / 1e6 < runtime);
				late += now() - start > period / 1e3;
				sched_yield();
				start = now();
			}
			printf("jobs 100 late %d periods %.0f\n", late, (start - begin) * 1e3 / period);
		} else if (!strcmp(step, "wrong")) {
			struct attr set = { .size = sizeof(set), .policy = 6, .runtime = MS, .deadline = 10 * MS };

			printf("flags: %s\n", result(syscall(SYS_sched_setattr, 0, &set, 1)));
			printf("negative: %s\n", result(syscall(SYS_sched_setattr, -1, &set, 0)));
			printf("init: %s\n", result(syscall(SYS_sched_setattr, 1, &set, 0)));
			printf("none: %s\n", result(syscall(SYS_sched_setattr, 1 << 23, &set, 0)));
			set.flags = 4;
			printf("signal: %s\n", result(syscall(SYS_sched_setattr, 0, &set, 0)));
			set.size = 47;
			printf("size: %s\n", result(syscall(SYS_sched_setattr, 0, &set, 0)));
			printf("null: %s\n", result(syscall(SYS_sched_setattr, 0, NULL, 0)));
			printf("pointer: %s\n", result(syscall(SYS_sched_setattr, 0, 8, 0)));
		} else if (!strcmp(step, "pass")) {
			printf("six: %s\n", passes_six() ? "ok" : "wrong");
			printf("pid: %s\n", syscall(SYS_getpid) == getpid() ? "ok" : "wrong");
			printf("close: %s\n", result(syscall(SYS_close, -1)));
		} else {
			return 2;
		}
	}
	return 0;
}

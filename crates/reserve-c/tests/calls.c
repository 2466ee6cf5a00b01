/* Calls every function and prints the results. With an argument: without a server. */
#include <laxity_reserve.h>
#include <stdio.h>
#include <string.h>

#define MS 1000000u

int main(int argc, char **argv)
{
	struct laxity_reservation r;
	struct laxity_error why;
	int reserved, released, foreign;

	(void)argv;
	memset(&r, 0xff, sizeof(r));
	memset(&why, 0xff, sizeof(why));
	if (argc > 1) {
		int code = laxity_query(LAXITY_THIS_THREAD, NULL, NULL);

		if (code != LAXITY_UNREACHABLE || laxity_release(0, &why) != code || why.max_runtime_ns)
			return 1;
		puts(laxity_code_name(code));
		return !strstr(why.text, "laxity cpu serve");
	}
	int code = laxity_reserve(0, 6 * MS, 10 * MS, 0, &r, &why);
	if (code)
		printf("%s max_runtime_ns %llu: %s\n", laxity_code_name(code),
		       (unsigned long long)why.max_runtime_ns, why.text);
	else if (laxity_release(0, NULL))
		return 2;
	else
		puts("granted");
	memset(&r, 0xff, sizeof(r));
	if (laxity_reserve(0, 5 * MS / 2, 10 * MS, LAXITY_INHERIT, &r, &why))
		return 3;
	if (r.runtime_ns != 5 * MS / 2 || r.period_ns != 10 * MS || r.cpu || r.tasks || r.inherit)
		return 4;
	memset(&r, 0xff, sizeof(r));
	if (laxity_query(0, &r, NULL))
		return 5;
	printf("share %llu of %llu\n", (unsigned long long)r.reserved_ppm,
	       (unsigned long long)r.limit_ppm);
	printf("runtime %llu every %llu tasks %llu cpu %u inherit %u\n",
	       (unsigned long long)r.runtime_ns, (unsigned long long)r.period_ns,
	       (unsigned long long)r.tasks, r.cpu, r.inherit);
	if (r.deadline_misses || r.max_lateness_ns)
		return 6;
	reserved = laxity_reserve(0, MS, 10 * MS, 0, NULL, NULL);
	if (laxity_release(0, NULL))
		return 7;
	released = laxity_release(0, &why);
	foreign = laxity_query(999999999, &r, &why);
	printf("%s ", laxity_code_name(reserved));
	printf("%s ", laxity_code_name(released));
	printf("%s\n", laxity_code_name(foreign));
	if (reserved != LAXITY_ALREADY_RESERVED || released != LAXITY_NOT_RESERVED ||
	    foreign != LAXITY_NO_TASK)
		return 8;
	/* The reservation ends with this program. */
	return laxity_reserve(0, MS, 10 * MS, 0, NULL, NULL) ? 9 : 0;
}

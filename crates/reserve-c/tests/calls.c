/* Calls of every kind, what came of them printed. With an argument: where no server is. */
#include <laxity_reserve.h>
#include <stdio.h>
#include <string.h>

#define MS 1000000u

int main(int argc, char **argv)
{
	struct laxity_reservation r;
	struct laxity_error why;
	int one, none, foreign;

	(void)argv;
	memset(&r, 0xff, sizeof(r));
	memset(&why, 0xff, sizeof(why));
	if (argc > 1) {
		int code = laxity_query(LAXITY_THIS_THREAD, NULL, NULL);

		if (code != LAXITY_UNREACHABLE || laxity_release(0, &why) != code || why.fits_ns)
			return 1;
		puts(laxity_code_name(code));
		return !strstr(why.text, "laxity cpu serve");
	}
	int code = laxity_reserve(0, 6 * MS, 10 * MS, 0, &r, &why);
	if (code)
		printf("%s fits %llu: %s\n", laxity_code_name(code), (unsigned long long)why.fits_ns,
		       why.text);
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
	printf("share %llu of %llu\n", (unsigned long long)r.held_ppm, (unsigned long long)r.most_ppm);
	printf("holds %llu every %llu tasks %llu cpu %u inherit %u\n",
	       (unsigned long long)r.runtime_ns, (unsigned long long)r.period_ns,
	       (unsigned long long)r.tasks, r.cpu, r.inherit);
	if (r.late || r.latest_ns)
		return 6;
	one = laxity_reserve(0, MS, 10 * MS, 0, NULL, NULL);
	if (laxity_release(0, NULL))
		return 7;
	none = laxity_release(0, &why);
	foreign = laxity_query(999999999, &r, &why);
	printf("%s ", laxity_code_name(one));
	printf("%s ", laxity_code_name(none));
	printf("%s\n", laxity_code_name(foreign));
	if (one != LAXITY_HAS_ONE || none != LAXITY_HAS_NONE || foreign != LAXITY_NO_TASK)
		return 8;
	/* It ends with its program. */
	return laxity_reserve(0, MS, 10 * MS, 0, NULL, NULL) ? 9 : 0;
}

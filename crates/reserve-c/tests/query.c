/* Prints the reservation of a task. */
#include <laxity_reserve.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct laxity_reservation r;
	struct laxity_error why;
	int code = laxity_query(argc > 1 ? atoi(argv[1]) : 0, &r, &why);

	if (code)
		puts(why.text);
	else
		printf("runtime %llu tasks %llu inherit %u\n", (unsigned long long)r.runtime_ns,
		       (unsigned long long)r.tasks, r.inherit);
	return code;
}

/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The counts of one flow in user space.
 *
 * Input: steps of four u64, `bytes delay late demoted`, one per packet sent. Prints the words of
 * struct lx_counts.
 */
#include <stdio.h>

#define LX_PACKET unsigned long long
#include <laxity/counts.h>

int main(void)
{
	static struct lx_counts counts;
	const u64 *words = (const u64 *)&counts;
	u64 step[4];
	size_t i;

	while (fread(step, sizeof(step), 1, stdin) == 1)
		lx_count_sent(&counts, step[0], step[1], step[2], step[3]);
	for (i = 0; i < sizeof(counts) / sizeof(*words); i++)
		printf("%llu\n", words[i]);
	return 0;
}

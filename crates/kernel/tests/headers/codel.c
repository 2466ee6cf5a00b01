/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/* Prints 2^32 / sqrt(n) as CoDel counts with it, for each u32 of the input. */
#include <stdio.h>

#include <laxity/codel.h>

int main(void)
{
	u32 n;

	while (fread(&n, sizeof(n), 1, stdin) == 1)
		printf("%llu\n", lx_inverse_root(n));
	return 0;
}

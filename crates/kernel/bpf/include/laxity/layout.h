/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Checks of the layout of structures and of constants that the loader shares. The lists are in the
 * intf.h of each program, and in scx/state.h for the tests; build.rs reads them there, so that each
 * number is written once.
 */
#ifndef LAXITY_LAYOUT_H
#define LAXITY_LAYOUT_H

#define LX_SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), "size of " #type)
#define LX_FIELD(type, field, offset, bytes)                                                       \
	_Static_assert(__builtin_offsetof(struct type, field) == (offset) &&                       \
			       sizeof(((struct type *)0)->field) == (bytes),                       \
		       "place of " #type "." #field)
#define LX_VALUE(name, value) _Static_assert((name) == (value), "value of " #name)

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Limits and durations of the scx programs.
 */
#ifndef LAXITY_SCX_LIMITS_H
#define LAXITY_SCX_LIMITS_H

/* Upper bound that the kernel's tick enforces; the timer ends budgets. */
#define LX_SLICE_NS 100000000ULL
/* Slice of a task that runs without being charged. */
#define LX_UNCHARGED_SLICE_NS (LX_SLICE_NS / 100)
/* Maximum number of picks per `dispatch`, if picked tasks are gone or tasks were stolen. */
#define LX_MAX_RETRIES 8
/* Without reservations the timer lets a task overrun its budget by this time, in ns: most tasks
 * block before, and are charged then. */
#define LX_TIMER_SLACK_NS 100000

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What all programs need: how sections, maps and the kernel's functions are declared, and the
 * helpers, maps and errors that more than one of them uses.
 */
#ifndef LAXITY_BPF_H
#define LAXITY_BPF_H

#include "types.h"

#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))
#define __kptr __attribute__((btf_type_tag("kptr")))
/* The number of a type in the running kernel's type information. */
#define bpf_core_type_id_kernel(type) __builtin_btf_type_id(*(typeof(type) *)0, 1)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name

enum {
	EBUSY = 16,
	EINVAL = 22,
};

/* Maps are described by the types of the fields; this is the number of the array type. */
enum { BPF_MAP_TYPE_ARRAY = 2 };

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static void *(*const bpf_kptr_xchg)(void *at, void *pointer) = (void *)194;

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Declarations that all programs share: sections, maps, helpers and error numbers.
 */
#ifndef LAXITY_BPF_H
#define LAXITY_BPF_H

#include "types.h"

#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))
#define __kptr __attribute__((btf_type_tag("kptr")))
/* BTF id of a type in the running kernel. */
#define bpf_core_type_id_kernel(type) __builtin_btf_type_id(*(typeof(type) *)0, 1)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name

enum {
	EBUSY = 16,
	EINVAL = 22,
};

/* The loader reads the map type from BTF. */
enum { BPF_MAP_TYPE_ARRAY = 2 };

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static void *(*const bpf_kptr_xchg)(void *at, void *pointer) = (void *)194;

#endif

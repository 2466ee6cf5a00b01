/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Identities and keys of packets in user space.
 *
 * Input: the 16 bytes of the secret, then for each packet u32 length, u16 EtherType, u16 offset of
 * what follows it, and the packet. Prints the identity's bytes and its key by each `lx_queue_by`,
 * in hexadecimal.
 */
#include <stdio.h>
#include <stdlib.h>

#include <laxity/flow_identity.h>

struct memory {
	const u8 *bytes;
	u32 length;
};

/* Copies, so that a sanitizer sees bytes read beyond those asked for. */
static const u8 *lx_packet_slice(void *packet, u32 at, u8 *buffer, u32 n)
{
	struct memory *m = packet;

	if (at > m->length || n > m->length - at)
		return NULL;
	__builtin_memcpy(buffer, m->bytes + at, n);
	return buffer;
}

int main(void)
{
	struct lx_sip_key key;
	struct {
		u32 length;
		u16 type;
		u16 at;
	} head;

	if (fread(&key, sizeof(key), 1, stdin) != 1)
		return 2;
	while (fread(&head, sizeof(head), 1, stdin) == 1) {
		/* An allocation each, so that a sanitizer sees reads beyond it. */
		u8 *bytes = malloc(head.length + !head.length);
		struct memory memory = { bytes, head.length };
		struct lx_packet_bytes packet = { &memory, head.length };
		struct lx_flow_identity id;
		const u8 *p = (const u8 *)&id;
		u32 i;

		if (!bytes || fread(bytes, 1, head.length, stdin) != head.length)
			return 2;
		lx_flow_identity(&packet, head.type, head.at, &id);
		for (i = 0; i < sizeof(id); i++)
			printf("%02x", p[i]);
		for (i = LX_BY_FLOW; i <= LX_BY_HOST_AND_FLOW; i++)
			printf(" %llx", lx_flow_hash(&key, i, &id));
		printf("\n");
		free(bytes);
	}
	return 0;
}

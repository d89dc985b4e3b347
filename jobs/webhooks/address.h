/* address.h - which addresses of a network a webhook may reach.
 *
 * These addresses are refused: the special ones (IANA's registries of special-purpose addresses, RFC 6890 and later),
 * one of Azure's that is in no registry, and every address of this machine. An allowed range is exempt, and plain http
 * goes to allowed ranges only. An IPv4 address inside an IPv6 one (::ffff:0:0/96, and 64:ff9b::/96 of NAT64) is judged
 * as IPv4. */
#ifndef ADDRESS_H
#define ADDRESS_H

#include "engine/base/base.h"

struct sockaddr;
struct sockaddr_storage;

struct address_range {
	unsigned char bytes[16]; /* of IPv4 behind ::ffff:0:0/96 */
	unsigned      bits;      /* of the 128 that count */
};
struct address_ranges {
	struct address_range *list;
	size_t                count, max;
};

/* Adds "10.0.0.0/8" or several ranges, divided by commas. Strict: each range has a length, no bits are set behind it,
 * and IPv4 is written as IPv4. False: `why` names the wrong range, and the ranges before it are added. */
bool address_ranges_add(struct address_ranges *to, const char *cidrs, char *why, size_t why_size) MUST_CHECK;
void address_ranges_fini(struct address_ranges *r);

/* Says why nothing may be sent to this address, in words; NULL: sending is allowed. plain: over http. Any thread. */
const char *address_refused(const struct sockaddr *to, const struct address_ranges *allowed, bool plain);
/* Whether the address is one of this machine, for tests: address_refused asks for special addresses first. Asks the
 * kernel for the route, and sends nothing. */
bool address_is_own(const struct sockaddr *a);
/* An IPv4 or IPv6 address in its usual form, as inet_pton takes it. */
bool address_parse(struct sockaddr_storage *to, const char *text) MUST_CHECK;

#endif

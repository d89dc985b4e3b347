/* address.c - see address.h. All addresses are compared as 16 bytes; an IPv4 address is mapped as in RFC 4291
 * 2.5.5.2. */
#include "jobs/webhooks/address.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IPV4_BITS = 32, IPV6_BITS = 128, MAPPED_BITS = 96, CIDR_MAX = 64, ANY_PORT = 9 };

static const unsigned char mapped[16] = {[10] = 0xff, [11] = 0xff};
static const unsigned char nat64[16] = {0x00, 0x64, 0xff, 0x9b};

/* IPv6 outside of 2000::/3 needs no row. */
static const struct {
	const char *cidr, *name;
} special[] = {
	{"0.0.0.0/8", "an address of this network"},
	{"10.0.0.0/8", "a private address"},
	{"100.64.0.0/10", "a shared address"},
	{"127.0.0.0/8", "a loopback address"},
	{"168.63.129.16/32", "an address of the cloud's own"},
	{"169.254.0.0/16", "a link-local address"},
	{"172.16.0.0/12", "a private address"},
	{"192.0.0.0/24", "a protocol's address"},
	{"192.0.2.0/24", "an address for documentation"},
	{"192.88.99.0/24", "a relay's address"},
	{"192.168.0.0/16", "a private address"},
	{"198.18.0.0/15", "an address for benchmarks"},
	{"198.51.100.0/24", "an address for documentation"},
	{"203.0.113.0/24", "an address for documentation"},
	{"224.0.0.0/4", "a multicast address"},
	{"240.0.0.0/4", "a reserved address"},
	{"2001::/23", "a protocol's address"},
	{"2001:db8::/32", "an address for documentation"},
	{"2002::/16", "a relay's address"},
	{"3fff::/20", "an address for documentation"},
};
static struct address_range specials[LENGTH(special)];
static pthread_once_t       specials_once = PTHREAD_ONCE_INIT;

static bool bits_equal(const unsigned char *a, const unsigned char *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	return memcmp(a, b, whole) == 0 && (!rest || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

/* ---- ranges */

static bool length_read(const char *text, unsigned max, unsigned *length)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 3 || text[digits] || (text[0] == '0' && digits > 1))
		return false;
	*length = (unsigned)strtoul(text, NULL, 10);
	return *length <= max;
}

static bool is_range(const struct address_range *r)
{
	for (unsigned bit = r->bits; bit < IPV6_BITS; bit++)
		if (r->bytes[bit / 8] & 0x80 >> bit % 8)
			return false;
	return true;
}

static bool holds_ipv4(const unsigned char *bytes)
{
	return bits_equal(bytes, mapped, MAPPED_BITS) || bits_equal(bytes, nat64, MAPPED_BITS);
}

/* Returns what is wrong with the text; NULL: nothing. */
static const char *range_read(struct address_range *r, const char *text, size_t len)
{
	char address[CIDR_MAX], *slash;
	bool ipv4 = true;

	if (len >= sizeof(address))
		return "is no range of addresses";
	memcpy(address, text, len);
	address[len] = '\0';
	slash = strchr(address, '/');
	if (slash)
		*slash = '\0';
	memcpy(r->bytes, mapped, sizeof(mapped));
	if (inet_pton(AF_INET, address, r->bytes + MAPPED_BITS / 8) != 1) {
		ipv4 = false;
		if (inet_pton(AF_INET6, address, r->bytes) != 1)
			return "is no range of addresses";
	}
	if (!slash || !length_read(slash + 1, ipv4 ? IPV4_BITS : IPV6_BITS, &r->bits))
		return ipv4 ? "needs a length from /0 to /32" : "needs a length from /0 to /128";
	if (!ipv4 && holds_ipv4(r->bytes))
		return "holds IPv4 addresses: say it as an IPv4 range";
	r->bits += ipv4 ? MAPPED_BITS : 0;
	return is_range(r) ? NULL : "has bits set behind its length";
}

bool address_ranges_add(struct address_ranges *to, const char *cidrs, char *why, size_t why_size)
{
	for (const char *at = cidrs;; at++) {
		size_t               len = strcspn(at, ",");
		struct address_range range;
		const char          *flaw = range_read(&range, at, len);

		if (flaw)
			return why_write(why, why_size, "\"%.*s\" %s", len > CIDR_MAX ? CIDR_MAX : (int)len, at, flaw);
		to->list = mem_reach(to->list, to->count, &to->max, sizeof(*to->list));
		to->list[to->count++] = range;
		at += len;
		if (!*at)
			return true;
	}
}

void address_ranges_fini(struct address_ranges *r)
{
	free(r->list);
	*r = (struct address_ranges){0};
}

static bool in_range(const unsigned char *bytes, const struct address_range *r)
{
	/* "::/0" is every IPv6 address, and no IPv4 address. */
	return bits_equal(bytes, r->bytes, r->bits) &&
	       (r->bits >= MAPPED_BITS || !bits_equal(bytes, mapped, MAPPED_BITS));
}

/* ---- addresses */

bool address_parse(struct sockaddr_storage *to, const char *text)
{
	struct sockaddr_in  *ipv4 = (struct sockaddr_in *)to;
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)to;

	memset(to, 0, sizeof(*to));
	if (inet_pton(AF_INET, text, &ipv4->sin_addr) == 1)
		to->ss_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &ipv6->sin6_addr) == 1)
		to->ss_family = AF_INET6;
	return to->ss_family != AF_UNSPEC;
}

static bool bytes_of(unsigned char bytes[16], const struct sockaddr *a)
{
	memcpy(bytes, mapped, sizeof(mapped));
	if (a->sa_family == AF_INET)
		memcpy(bytes + MAPPED_BITS / 8, &((const struct sockaddr_in *)a)->sin_addr, IPV4_BITS / 8);
	else if (a->sa_family == AF_INET6)
		memcpy(bytes, &((const struct sockaddr_in6 *)a)->sin6_addr, IPV6_BITS / 8);
	else
		return false;
	if (bits_equal(bytes, nat64, MAPPED_BITS))
		memcpy(bytes, mapped, MAPPED_BITS / 8);
	return true;
}

/* The kernel takes an address of this machine as the source of a packet to that same address. A list of the interfaces
 * would take netlink, which the systemd unit forbids. */
static bool bytes_own(const unsigned char bytes[16])
{
	struct sockaddr_storage to = {0}, from = {0};
	struct sockaddr_in     *ipv4 = (struct sockaddr_in *)&to;
	struct sockaddr_in6    *ipv6 = (struct sockaddr_in6 *)&to;
	unsigned char           source[16];
	socklen_t               size = sizeof(from);
	bool                    is_ipv4 = bits_equal(bytes, mapped, MAPPED_BITS), own;
	int                     fd = socket(is_ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (is_ipv4) {
		*ipv4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(ANY_PORT)};
		memcpy(&ipv4->sin_addr, bytes + MAPPED_BITS / 8, IPV4_BITS / 8);
	} else {
		*ipv6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(ANY_PORT)};
		memcpy(&ipv6->sin6_addr, bytes, IPV6_BITS / 8);
	}
	own = fd >= 0 && connect(fd, (struct sockaddr *)&to, is_ipv4 ? sizeof(*ipv4) : sizeof(*ipv6)) == 0 &&
	      getsockname(fd, (struct sockaddr *)&from, &size) == 0 && bytes_of(source, (struct sockaddr *)&from) &&
	      memcmp(source, bytes, sizeof(source)) == 0;
	if (fd >= 0)
		close(fd);
	return own;
}

bool address_is_own(const struct sockaddr *a)
{
	unsigned char bytes[16];

	return bytes_of(bytes, a) && bytes_own(bytes);
}

static void specials_read(void)
{
	for (size_t i = 0; i < LENGTH(special); i++)
		if (range_read(&specials[i], special[i].cidr, strlen(special[i].cidr)))
			assert(!"a row of special[] is no range");
}

static const char *bytes_special(const unsigned char bytes[16])
{
	pthread_once(&specials_once, specials_read);
	for (size_t i = 0; i < LENGTH(special); i++)
		if (in_range(bytes, &specials[i]))
			return special[i].name;
	if (!bits_equal(bytes, mapped, MAPPED_BITS) && bytes[0] >> 5 != 1)
		return "an address that is not global";
	return bytes_own(bytes) ? "an address of this machine" : NULL;
}

const char *address_refused(const struct sockaddr *to, const struct address_ranges *allowed, bool plain)
{
	unsigned char bytes[16];
	const char   *name;

	if (!bytes_of(bytes, to))
		return "no address of the internet";
	for (size_t i = 0; i < allowed->count; i++)
		if (in_range(bytes, &allowed->list[i]))
			return NULL;
	name = bytes_special(bytes);
	return name ? name : plain ? "an address that takes no plain http" : NULL;
}

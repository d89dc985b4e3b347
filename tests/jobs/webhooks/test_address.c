/* test_address.c - which addresses are refused: every range at its edges, IPv4 inside IPv6, the machine's own, what is
 * allowed, and ranges that are none. */
#include "jobs/webhooks/address.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static const struct address_ranges nothing;

static const char *refused(const char *address, const struct address_ranges *allowed, bool plain)
{
	struct sockaddr_storage to;

	cr_assert(address_parse(&to, address), "%s", address);
	return address_refused((struct sockaddr *)&to, allowed, plain);
}

static struct address_ranges ranges(const char *cidrs)
{
	struct address_ranges r = {0};
	char                  why[200] = "";

	cr_assert(address_ranges_add(&r, cidrs, why, sizeof(why)), "%s", why);
	return r;
}

Test(address, special_ones_are_refused)
{
	/* The first and the last address of a range, and their neighbours outside of it; NULL: refused as well. */
	static const struct {
		const char *before, *first, *last, *behind;
	} rows[] = {
		{NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0"},
		{"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
		{"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
		{"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"},
		{"168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"},
		{"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"},
		{"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
		{"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"},
		{"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"},
		{"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"},
		{"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"},
		{"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"},
		{"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"},
		{"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"},
		{"223.255.255.255", "224.0.0.0", "239.255.255.255", NULL},
		{NULL, "240.0.0.0", "255.255.255.255", NULL},
		{NULL, "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL},
		{NULL, "::1", "::7f00:1", NULL},
		{NULL, "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", NULL},
		{NULL, "100::", "100::ffff:ffff:ffff:ffff", NULL},
		{"2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
	         "2001:200::"},
		{"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
	         "2001:db9::"},
		{"2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	         "2003::"},
		{"3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
	         "3fff:1000::"},
		{"3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL},
		{NULL, "5f00::", "fc00::", NULL},
		{NULL, "fdff::", "fe80::1", NULL},
		{NULL, "fec0::", "ff02::1", NULL},
		{NULL, "169.254.169.254", "fd00:ec2::254", NULL},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		cr_expect(refused(rows[i].first, &nothing, false), "%s", rows[i].first);
		cr_expect(refused(rows[i].last, &nothing, false), "%s", rows[i].last);
		cr_expect_not(rows[i].before && refused(rows[i].before, &nothing, false), "%s", rows[i].before);
		cr_expect_not(rows[i].behind && refused(rows[i].behind, &nothing, false), "%s", rows[i].behind);
	}
}

Test(address, ipv4_is_judged_inside_of_ipv6)
{
	static const char *const bad[] = {
		"::ffff:127.0.0.1", "::ffff:10.0.0.1",    "::ffff:169.254.169.254",   "::ffff:0.0.0.0",
		"64:ff9b::7f00:1",  "64:ff9b::10.1.2.3",  "64:ff9b::169.254.169.254", "::ffff:168.63.129.16",
		"::127.0.0.1",      "::ffff:0:127.0.0.1", "64:ff9b::1:0:127.0.0.1",   "2002:7f00:1::",
	};
	static const char *const good[] = {"::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "64:ff9b::808:808"};
	struct address_ranges    loopback = ranges("127.0.0.0/8");

	for (size_t i = 0; i < LENGTH(bad); i++)
		cr_expect(refused(bad[i], &nothing, false), "%s", bad[i]);
	for (size_t i = 0; i < LENGTH(good); i++)
		cr_expect_not(refused(good[i], &nothing, false), "%s", good[i]);
	cr_expect_not(refused("::ffff:127.0.0.1", &loopback, true));
	cr_expect(refused("::127.0.0.1", &loopback, true));
	cr_expect(refused("::1", &loopback, true));
	address_ranges_fini(&loopback);
}

Test(address, other_families_are_refused)
{
	struct sockaddr_un unix_socket = {.sun_family = AF_UNIX, .sun_path = "/run/mysqld/mysqld.sock"};
	struct sockaddr    none = {.sa_family = AF_UNSPEC};

	cr_expect(address_refused((struct sockaddr *)&unix_socket, &nothing, false));
	cr_expect(address_refused(&none, &nothing, false));
}

Test(address, allowed_ranges_are_exempt_and_plain_http_is_for_them_alone)
{
	struct address_ranges allowed = ranges("10.1.0.0/16,192.168.7.9/32,fd00:1::/32,8.8.0.0/13"), all, six;

	for (int plain = 0; plain < 2; plain++) {
		cr_expect_not(refused("10.1.0.0", &allowed, plain));
		cr_expect_not(refused("10.1.255.255", &allowed, plain));
		cr_expect_not(refused("192.168.7.9", &allowed, plain));
		cr_expect_not(refused("fd00:1:ffff::1", &allowed, plain));
		cr_expect_not(refused("8.15.255.255", &allowed, plain));
		cr_expect(refused("10.0.255.255", &allowed, plain));
		cr_expect(refused("10.2.0.0", &allowed, plain));
		cr_expect(refused("192.168.7.8", &allowed, plain));
		cr_expect(refused("192.168.7.10", &allowed, plain));
		cr_expect(refused("fd00:2::1", &allowed, plain));
	}
	cr_expect_not(refused("8.16.0.0", &allowed, false));
	cr_expect(refused("8.16.0.0", &allowed, true));
	cr_expect(refused("2606:4700::1", &allowed, true));
	all = ranges("0.0.0.0/0");
	six = ranges("::/0");
	cr_expect(!refused("127.0.0.1", &all, true) && !refused("::ffff:127.0.0.1", &all, true));
	cr_expect(refused("::1", &all, true));
	cr_expect(!refused("::1", &six, true) && refused("127.0.0.1", &six, true));
	cr_expect(refused("::ffff:127.0.0.1", &six, true), "IPv4, however it is written");
	address_ranges_fini(&allowed);
	address_ranges_fini(&all);
	address_ranges_fini(&six);
}

Test(address, ranges_are_read_strictly)
{
	static const char *const good[] = {
		"0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/8,fc00::/7", "127.0.0.1/32", "::/0", "::1/128", "2001:DB8::/32",
	};
	static const char *const bad[] = {
		"",
		",",
		"10.0.0.0/8,",
		",10.0.0.0/8",
		"10.0.0.0/8, fc00::/7",
		"10.0.0.0/8 ",
		"10.0.0.0",
		"10.0.0.0/",
		"10.0.0.0/33",
		"10.0.0.0/-1",
		"10.0.0.0/+8",
		"10.0.0.0/08",
		"10.0.0.0/8/8",
		"10.0.0.1/8",
		"10.0.0/8",
		"10/8",
		"010.0.0.0/8",
		"0x0a.0.0.0/8",
		"167772160/8",
		"10.0.0.0/4294967304",
		"10.0.0.0/255.0.0.0",
		"::1",
		"::/129",
		"fc00::1/7",
		"[::1]/128",
		"fe80::%lo/64",
		"::ffff:127.0.0.0/104",
		"64:ff9b::/96",
		"localhost/8",
		"10.0.0.0 /8",
		"1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111/8",
	};
	struct address_ranges r = {0};
	char                  why[200];

	for (size_t i = 0; i < LENGTH(good); i++)
		cr_expect(address_ranges_add(&r, good[i], why, sizeof(why)), "%s", good[i]);
	for (size_t i = 0; i < LENGTH(bad); i++) {
		why[0] = '\0';
		cr_expect_not(address_ranges_add(&r, bad[i], why, sizeof(why)), "%s", bad[i]);
		cr_expect(why[0] == '"', "%s: %s", bad[i], why);
	}
	address_ranges_fini(&r);
}

Test(address, the_machines_own_are_known)
{
	struct ifaddrs         *list, *a;
	struct sockaddr_storage other;
	int                     seen = 0;

	cr_assert(getifaddrs(&list) == 0);
	for (a = list; a; a = a->ifa_next) {
		if (!a->ifa_addr || (a->ifa_addr->sa_family != AF_INET && a->ifa_addr->sa_family != AF_INET6))
			continue;
		if (a->ifa_addr->sa_family == AF_INET6 &&
		    IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)a->ifa_addr)->sin6_addr))
			continue; /* refused anyway */
		cr_expect(address_is_own(a->ifa_addr), "%s", a->ifa_name);
		cr_expect(address_refused(a->ifa_addr, &nothing, false), "%s", a->ifa_name);
		seen++;
	}
	freeifaddrs(list);
	cr_expect(seen > 0);
	cr_assert(address_parse(&other, "::ffff:127.0.0.1") && address_is_own((struct sockaddr *)&other));
	cr_assert(address_parse(&other, "8.8.8.8"));
	cr_expect_not(address_is_own((struct sockaddr *)&other));
	cr_assert(address_parse(&other, "2606:4700::1"));
	cr_expect_not(address_is_own((struct sockaddr *)&other));
}

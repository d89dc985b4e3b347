/* url.c - see url.h. */
#include "engine/db/url.h"
#include "engine/base/log.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>
#include <unistd.h>

static const char target_form[] =
	"the database should read mariadb://USER@HOST:PORT/DB or "
	"mariadb://USER@localhost/DB?socket=PATH; HOST:PORT may be up to 9 with commas between";

/* Percent-decodes a part of a URL. False: it is empty, too long, or not well encoded. */
static bool part_decode(char *to, size_t size, const char *from, const char *end)
{
	size_t len = 0;

	for (; from < end; from++) {
		char c = *from;

		if (c == '%') {
			if (end - from < 3 || !isxdigit((unsigned char)from[1]) || !isxdigit((unsigned char)from[2]))
				return false;
			c = (char)strtol((char[]){from[1], from[2], '\0'}, NULL, 16);
			from += 2;
		}
		if (c == '\0' || len == size - 1)
			return false;
		to[len++] = c;
	}
	to[len] = '\0';
	return len > 0;
}

/* HOST, HOST:PORT or [IPV6]:PORT */
static bool host_parse(struct db_host *to, const char *from, const char *end)
{
	bool        brackets = *from == '[';
	const char *stop = memchr(from, brackets ? ']' : ':', (size_t)(end - from));
	const char *port = stop ? stop + brackets : end;
	char       *rest;

	if ((brackets && !stop) || !part_decode(to->name, sizeof(to->name), from + brackets, stop ? stop : end))
		return false;
	to->port = 3306;
	if (port == end)
		return true;
	if (port[0] != ':' || !isdigit((unsigned char)port[1]))
		return false;
	to->port = (unsigned)strtoul(port + 1, &rest, 10);
	return rest == end && to->port >= 1 && to->port <= 65535;
}

static bool host_stands(const struct db_target *t, const struct db_host *host)
{
	for (size_t i = 0; i < t->hosts_count; i++)
		if (t->hosts[i].port == host->port && strcasecmp(t->hosts[i].name, host->name) == 0)
			return true;
	return false;
}

static void host_use(struct db_target *to, const struct db_host *host)
{
	memcpy(to->host, host->name, sizeof(to->host));
	to->port = host->port;
}

/* One host, or several with commas between. */
static bool hosts_parse(struct db_target *to, const char *from, const char *end, char *why, size_t why_size)
{
	for (const char *comma; from <= end; from = comma + 1) {
		struct db_host host = {0};

		comma = memchr(from, ',', (size_t)(end - from));
		comma = comma ? comma : end;
		if (to->hosts_count == DB_HOSTS_MAX || !host_parse(&host, from, comma))
			return why_write(why, why_size, "%s", target_form);
		if (host_stands(to, &host))
			return why_write(why, why_size, "the host %s:%u of the database stands twice", host.name,
			                 host.port);
		to->hosts[to->hosts_count++] = host;
	}
	host_use(to, &to->hosts[0]);
	return true;
}

/* The number of the host to begin with. */
static bool start_parse(struct db_target *to, const char *from, const char *end)
{
	if (end - from != 1 || *from < '1' || (size_t)(*from - '0') > to->hosts_count)
		return false;
	host_use(to, &to->hosts[*from - '1']);
	return true;
}

static const char *const tls_words[] = {
	[DB_TLS_OFF] = "off", [DB_TLS_REQUIRED] = "required", [DB_TLS_VERIFY] = "verify"};

static bool tls_parse(enum db_tls *to, const char *word, size_t len)
{
	for (size_t i = 0; i < LENGTH(tls_words); i++)
		if (strlen(tls_words[i]) == len && strncmp(tls_words[i], word, len) == 0) {
			*to = (enum db_tls)i;
			return true;
		}
	return false;
}

/* One NAME=VALUE of those behind the question mark. */
static bool parameter_parse(struct db_target *to, const char *from, const char *end)
{
	const char *equals = memchr(from, '=', (size_t)(end - from)), *value = equals ? equals + 1 : end;
	size_t      len = equals ? (size_t)(equals - from) : 0;

	if (len == 6 && strncmp(from, "socket", len) == 0)
		return part_decode(to->socket, sizeof(to->socket), value, end);
	if (len == 5 && strncmp(from, "start", len) == 0)
		return start_parse(to, value, end);
	if (len == 6 && strncmp(from, "tls_ca", len) == 0)
		return part_decode(to->tls_ca, sizeof(to->tls_ca), value, end);
	return len == 3 && strncmp(from, "tls", len) == 0 && tls_parse(&to->tls, value, (size_t)(end - value));
}

static bool parameters_parse(struct db_target *to, const char *from, char *why, size_t why_size)
{
	for (const char *end; *from; from = end + (*end == '&')) {
		end = from + strcspn(from, "&");
		if (!parameter_parse(to, from, end))
			return why_write(why, why_size,
			                 "the database's parameters are socket=PATH, tls=off, tls=required, "
			                 "tls=verify with tls_ca=FILE, and start=N, the number of a host");
	}
	if (*to->socket && (to->hosts_count > 1 || strcmp(to->host, "localhost") != 0))
		return why_write(why, why_size, "a database with a socket is on localhost, and there alone");
	if (*to->socket && to->tls != DB_TLS_OFF)
		return why_write(why, why_size, "a socket needs no TLS: its bytes do not leave the machine");
	if ((to->tls == DB_TLS_VERIFY) != (*to->tls_ca != '\0'))
		return why_write(why, why_size,
		                 "tls=verify and tls_ca=FILE go together (Debian's list of public authorities is "
		                 "/etc/ssl/certs/ca-certificates.crt)");
	if (*to->tls_ca && access(to->tls_ca, R_OK) != 0)
		return why_write(why, why_size, "tls_ca: cannot read %s: %s", to->tls_ca, strerror(errno));
	if (*to->socket)
		to->host[0] = '\0';
	return true;
}

bool db_target_parse(struct db_target *to, const char *url, char *why, size_t why_size)
{
	static const char scheme[] = "mariadb://";
	const char       *user, *at, *slash, *end;

	*to = (struct db_target){0};
	if (strncmp(url, scheme, strlen(scheme)) != 0)
		return why_write(why, why_size, "%s", target_form);
	user = url + strlen(scheme);
	slash = user + strcspn(user, "/?");
	at = memchr(user, '@', (size_t)(slash - user));
	if (!at || *slash != '/')
		return why_write(why, why_size, "%s", target_form);
	if (memchr(user, ':', (size_t)(at - user)))
		return why_write(why, why_size,
		                 "a password does not belong in a URL, which all users see: "
		                 "write it to a file and name that with --db-password-file");
	end = slash + strcspn(slash, "?");
	if (!part_decode(to->user, sizeof(to->user), user, at) ||
	    !part_decode(to->database, sizeof(to->database), slash + 1, end))
		return why_write(why, why_size, "%s", target_form);
	if (!hosts_parse(to, at + 1, slash, why, why_size) ||
	    (*end != '\0' && !parameters_parse(to, end + 1, why, why_size)))
		return false;
	if (to->hosts_count == 1)
		to->hosts_count = 0;
	return true;
}

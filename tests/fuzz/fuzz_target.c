/* fuzz_target.c - any bytes as the URL of --db. What is taken names a user, a database and either a host with a port or
 * a socket, never a password; written out again it means the same. */
#include "input.h"
#include "engine/db/db.h"

#include <stdlib.h>
#include <string.h>

static void encode(struct text *to, const char *from)
{
	for (; *from; from++)
		text_format(to, "%%%02X", (unsigned)(unsigned char)*from);
}

static void target_write(struct text *to, const struct db_target *t)
{
	text_add(to, "mariadb://");
	encode(to, t->user);
	text_add(to, "@");
	encode(to, *t->socket ? "localhost" : t->host);
	if (!*t->socket)
		text_format(to, ":%u", t->port);
	text_add(to, "/");
	encode(to, t->database);
	if (*t->socket) {
		text_add(to, "?socket=");
		encode(to, t->socket);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char            *url = input_text(data, size), why[512] = "";
	struct db_target t, again;
	struct text      written = {0};

	if (!db_target_parse(&t, url, why, sizeof(why))) {
		assert(*why);
		free(url);
		return 0;
	}
	assert(*t.user && *t.database && !*t.password && !*t.host == !!*t.socket);
	assert(*t.socket || (t.port >= 1 && t.port <= 65535));
	target_write(&written, &t);
	assert(db_target_parse(&again, written.data, why, sizeof(why)));
	assert(strcmp(t.user, again.user) == 0 && strcmp(t.database, again.database) == 0);
	assert(strcmp(t.host, again.host) == 0 && strcmp(t.socket, again.socket) == 0);
	assert(*t.socket || t.port == again.port);
	text_fini(&written);
	free(url);
	return 0;
}

/* url.h - where a database is, from its URL. */
#ifndef URL_H
#define URL_H

#include "engine/base/base.h"

/* Encryption that a connection over TCP must have, or is not made. A socket needs none. */
enum db_tls {
	DB_TLS_OFF,
	DB_TLS_REQUIRED, /* encrypted, whatever host answers */
	DB_TLS_VERIFY,   /* encrypted, and the host is the one named: its certificate is valid and of an authority in
	                    tls_ca */
};

/* The place of a database. Filled by db_target_parse or by embedded_open. */
enum { DB_HOSTS_MAX = 9 };
struct db_host {
	char     name[256];
	unsigned port;
};
struct db_target {
	char        host[256]; /* empty: the socket is used */
	unsigned    port;
	char        socket[512]; /* may be longer than the 107 bytes of a socket address */
	char        user[128];
	char        password[256];
	char        database[128];
	enum db_tls tls;
	char        tls_ca[512]; /* a file of certificates (PEM), used by DB_TLS_VERIFY */
	/* Where several hosts have the database: all of them, in their order. host and port are those of the one to
	 * begin with. */
	struct db_host hosts[DB_HOSTS_MAX];
	size_t         hosts_count; /* 0: there is one alone */
};

/* Reads mariadb://USER@HOST:PORT/DB (port 3306 if none, an IPv6 address in brackets; of a cluster up to DB_HOSTS_MAX of
 * HOST:PORT with commas between, and ?start=N for the one to begin with, from 1) or
 * mariadb://USER@localhost/DB?socket=PATH; localhost without a socket is TCP. Over TCP, ?tls=off (the default),
 * ?tls=required or ?tls=verify&tls_ca=FILE. Names may be percent-encoded. A password is refused there: every user of
 * the machine can see a URL. On false `why` says what is wrong. */
bool db_target_parse(struct db_target *to, const char *url, char *why, size_t why_size) MUST_CHECK;

#endif

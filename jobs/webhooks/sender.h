/* sender.h - sends deliveries to webhooks, any number at once: HTTP/1.1 by libcurl, signed by Standard Webhooks 1.0.
 *
 * The address of every connection is checked (address.h), when it is made and before each request over a kept one.
 * There are no proxies and no redirects, and TLS is verified. At most 64 KiB of an answer's head and 64 KiB of its body
 * are read. A connection is kept for 60 s at most.
 *
 * One thread. The process ignores SIGPIPE. */
#ifndef SENDER_H
#define SENDER_H

#include "engine/base/json.h"
#include "jobs/webhooks/signature.h"

struct sender;

struct sender_options {
	const char *allow;      /* ranges that are valid for address_ranges_add; NULL: none */
	int         timeout_ms; /* time for an answer, from the beginning of the attempt; 0: 15 s */
	/* For tests only. */
	const char        *ca_file; /* trusted certificates, PEM; NULL: SSL_CERT_FILE, or the system's */
	const char *const *resolve; /* "HOST:PORT:ADDRESS" .. NULL: read at each post, before any other resolver */
};

/* One attempt. All is copied, except `arg`. */
struct post {
	const char *url, *id; /* the id of the event, the same at each attempt */
	const void *body;
	size_t      len;
	const char *secrets[SECRETS]; /* NULL: none; one at least */
	void       *arg;
};

/* The end of an attempt. BODY_KEPT: bytes of an answer's body that are kept. */
enum { BODY_KEPT = 200 };
struct posted {
	void   *arg;
	bool    delivered;       /* answered 2xx */
	int     status;          /* of the answer; 0: there was none, or it did not come whole */
	int64_t retry_after_s;   /* the pause that the receiver asks for, up to an hour; -1: none */
	bool    gone;            /* answered 410 */
	char    why[200];        /* printable ASCII; empty after a delivery */
	int64_t at, ms;          /* when it began, by clock_wall_ms, and how long it took */
	size_t  body_len;        /* the first bytes of the answer's body, .. */
	char    body[BODY_KEPT]; /* .. which may be any bytes */
};

struct sender *sender_new(const struct sender_options *o);
void           sender_free(struct sender *s); /* breaks off running attempts */
void           sender_post(struct sender *s, const struct post *p);
/* Works on all attempts until one has ended or the time is over. Returns how many have ended, `max` at most; the others
 * come with the next call. */
size_t sender_wait(struct sender *s, int wait_ms, struct posted *done, size_t max);
/* sender_wait also returns when this descriptor can be read; -1, the default: none. */
void sender_wake_by(struct sender *s, int fd);
/* Writes the receiver's answer: {status, ms, body}, or {error, ms, body} if there was no answer. Bytes that are not
 * UTF-8 become U+FFFD. */
void   posted_json(struct json_writer *w, const struct posted *p);
size_t sender_busy(const struct sender *s); /* attempts that have not been returned yet */
/* Replaces the allowed ranges, for kept connections too. */
void sender_allow(struct sender *s, const char *allow);

enum { WEBHOOK_URL_MAX = 2000 };
/* Whether a webhook may have this URL: printable ASCII, https (or http, if any range is allowed), a host, no user and
 * no fragment. A host that is an address must be reachable by the rules of address.h. Any thread. *why continues "the
 * url ..". */
bool webhook_url_valid(const char *url, const struct sender_options *o, const char **why) MUST_CHECK;

#endif

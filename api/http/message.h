/* message.h - a request and its answer as the calls see them, without a version of HTTP, and the handle between them.
 * The reader of a version makes a struct asked out of bytes, and the writer of that version makes bytes of a struct
 * answer. So a handle can stand for a connection of HTTP/1.1 (connection.c), for a stream of HTTP/2, or for a command
 * that asks without a socket. */
#ifndef MESSAGE_H
#define MESSAGE_H

#include "engine/base/base.h"

/* Headers of requests that the service reads. */
#define MESSAGE_HEADERS(X)                        \
	X(AUTHORIZATION, "Authorization")         \
	X(CONNECTION, "Connection")               \
	X(CONTENT_ENCODING, "Content-Encoding")   \
	X(CONTENT_LENGTH, "Content-Length")       \
	X(CONTENT_TYPE, "Content-Type")           \
	X(EXPECT, "Expect")                       \
	X(HOST, "Host")                           \
	X(IF_NONE_MATCH, "If-None-Match")         \
	X(ORIGIN, "Origin")                       \
	X(SEC_FETCH_SITE, "Sec-Fetch-Site")       \
	X(TRACEPARENT, "traceparent")             \
	X(TRANSFER_ENCODING, "Transfer-Encoding") \
	X(X_REQUEST_ID, "X-Request-Id")
enum header {
#define X(header, name) HEADER_##header,
	MESSAGE_HEADERS(X)
#undef X
		HEADERS
};

/* A header of an answer, as bytes: every version of HTTP wants the lengths. */
struct field {
	const char *name, *value;
	size_t      name_len, value_len;
};

struct reply {
	int                 status;
	const char         *reason; /* the status in words, for a version that has them */
	const struct field *fields; /* all headers but those of the version itself */
	size_t              fields_count;
	const void         *body;
	size_t              len;  /* bytes of it */
	bool                bare; /* the answer to HEAD: its body is not sent */
	bool                last; /* a connection that serves one request at a time ends with the answer */
};

/* The way back to the client: a place that serves one request after the other, and the number of the request there. An
 * answer to a client that has gone goes nowhere, even when the place serves another one. */
struct handle {
	const struct handle_calls *calls;
	void                      *place;
	uint64_t                   number;
};

struct handle_calls {
	/* Answers the request, once. All parts of the answer stay the caller's. */
	void (*answer)(const struct handle *to, const struct reply *answer);
	/* Has `left` called if the client leaves before its request is answered. The end of a client that has sent more
	 * after the request is not noticed. NULL: no client of this place leaves. */
	void (*watch)(const struct handle *from, void (*left)(void *arg), void *arg);
	/* Writes the address of the client, without its port; "unix" where it came by a unix socket, "-" where it has
	 * gone. NULL: the requests of this place have no lines (access.h). */
	void (*client)(const struct handle *from, char *to, size_t size);
};

/* A request that has come whole, or the head of one. All of it lives until the request is answered or the callee
 * returns, and may be written over. */
struct asked {
	struct handle from; /* of a request that is answered */
	const char   *method;
	char         *target;
	const char   *headers[HEADERS]; /* the first value of each name, without the space around it; NULL: none came */
	uint64_t      length;           /* bytes of the body as the head tells them; 0: it does not */
	char         *body;             /* of a whole request */
	size_t        body_len;
	bool          tcp;   /* the client came by an address, not by a unix socket */
	bool          whole; /* the last byte has come */
	void         *known; /* the finding of `heard`, for `asked` (connection.h); owned by the callee */
};

#endif

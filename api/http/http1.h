/* http1.h - HTTP/1.1, private to api/http: a reader, which finds the parts of a request and its end, and the writer of
 * an answer's head. Another reader of the same bytes, as a proxy in front of the service is, must not see another
 * request.
 *
 * A struct http1 follows the bytes of one request as they come and holds them against the grammar of RFC 9112, without
 * the parts of the grammar that are there for old programs only: a bare LF, a folded header, a name with a space, two
 * lengths, a length with a sign, a chunk with an extension. The reader remembers where things stand; its caller keeps
 * the bytes. Pure, allocates nothing. */
#ifndef HTTP1_H
#define HTTP1_H

#include "api/http/message.h"

struct text;

enum http1_fault { HTTP1_SOUND, HTTP1_MALFORMED, HTTP1_TOO_LONG, HTTP1_EXPECTATION };

enum http1_state {
	HTTP1_METHOD,
	HTTP1_TARGET,
	HTTP1_VERSION,
	HTTP1_LINE_END,
	HTTP1_LINE,
	HTTP1_NAME,
	HTTP1_VALUE,
	HTTP1_EMPTY_LINE,
	HTTP1_DATA,
	HTTP1_CHUNK_SIZE,
	HTTP1_CHUNK_SIZE_END,
	HTTP1_CHUNK_CR,
	HTTP1_CHUNK_LF,
	HTTP1_DONE,
};

struct http1_limits {
	uint64_t head_max; /* bytes of a head, with the trailer if there is one; less than 4 GiB */
	uint64_t body_max; /* bytes of a body, with the sizes and ends of its chunks */
};

/* A part of a head, in bytes from the beginning of the request. Nothing begins at 0 but the method. */
struct http1_span {
	uint32_t at, end;
};

/* Zero-initialised but for `limits`: before the first byte of a request. */
struct http1 {
	const struct http1_limits *limits;
	enum http1_state           state;                            /* HTTP1_DONE: the last byte has come */
	enum http1_fault           fault;                            /* stays, and nothing is read any more */
	const char                *detail;                           /* the fault, for people */
	struct http1_span          method, target, headers[HEADERS]; /* the first header of each name; at 0: none */
	uint64_t                   head, body;                       /* bytes of it so far */
	uint64_t                   body_at;                          /* begin of the body; 0: the head has not ended */
	uint64_t                   length;                           /* value of Content-Length */
	uint64_t                   left;            /* bytes of the body or of a chunk that are still to come */
	unsigned                   counts[HEADERS]; /* number of headers of each name */
	unsigned                   there;           /* a bit for each name that came */
	int                        header;          /* the header of the value; HEADERS: another one */
	bool                       is_10;           /* HTTP/1.0 */
	bool                       closes, keeps;   /* Connection: close, keep-alive */
	bool                       continues;       /* 100 Continue is waited for */
	bool                       expects;         /* something that we do not know */
	bool                       trailer;
	unsigned                   word_len;
	char word[24]; /* the version, name or value that is being read, as much of it as matters */
};

/* Reads on, up to the end of the request or to a fault. Returns how many bytes were taken. */
size_t http1_read(struct http1 *f, const char *bytes, size_t len);
/* Finds the headers of a request of which the head is done: the value of each, without the space around it; NULL: there
 * is none. `bytes`: the bytes of the request; a NUL is written after each value. */
void http1_headers(const struct http1 *f, char *bytes, const char *values[HEADERS]);
/* The body of a request that is done, and its length. If it came in chunks they are put together in place: once. */
char *http1_body(const struct http1 *f, char *bytes, size_t *len);
/* Does the connection end with this request, as far as the client says (RFC 9112, 9.3)? */
bool http1_is_last(const struct http1 *f);
/* Writes the line of the status and the headers of an answer into `to`, which is emptied before. `connection`: the
 * value of Connection; NULL: the answer has none. */
void http1_answer(struct text *to, const struct reply *answer, const char *connection);

#endif

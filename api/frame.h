/* frame.h - what is asked, and where it ends: a reader of HTTP/1.1. Another reader, a proxy in front of us, must not
 * see another request than we do.
 *
 * A frame follows the bytes of one request as they come and holds them against the grammar of RFC 9112, without the
 * parts of it that are there for old programs only: a bare LF, a folded header, a name with a space, two lengths, a
 * length with a sign, a chunk with an extension. It remembers where things stand, not what they are: whoever feeds it
 * keeps the bytes. Pure, allocates nothing. */
#ifndef FRAME_H
#define FRAME_H

#include "engine/base.h"

enum frame_fault { FRAME_SOUND, FRAME_MALFORMED, FRAME_TOO_LONG, FRAME_EXPECTATION };

enum frame_state {
	FRAME_METHOD,
	FRAME_TARGET,
	FRAME_VERSION,
	FRAME_LINE_END,
	FRAME_LINE,
	FRAME_NAME,
	FRAME_VALUE,
	FRAME_EMPTY_LINE,
	FRAME_DATA,
	FRAME_CHUNK_SIZE,
	FRAME_CHUNK_SIZE_END,
	FRAME_CHUNK_CR,
	FRAME_CHUNK_LF,
	FRAME_DONE,
};

/* Headers that somebody reads. */
#define FRAME_HEADERS(X)                          \
	X(AUTHORIZATION, "Authorization")         \
	X(CONNECTION, "Connection")               \
	X(CONTENT_ENCODING, "Content-Encoding")   \
	X(CONTENT_LENGTH, "Content-Length")       \
	X(CONTENT_TYPE, "Content-Type")           \
	X(EXPECT, "Expect")                       \
	X(HOST, "Host")                           \
	X(ORIGIN, "Origin")                       \
	X(SEC_FETCH_SITE, "Sec-Fetch-Site")       \
	X(TRANSFER_ENCODING, "Transfer-Encoding") \
	X(X_REQUEST_ID, "X-Request-Id")
enum header {
#define X(header, name) HEADER_##header,
	FRAME_HEADERS(X)
#undef X
		HEADERS
};

struct frame_limits {
	uint64_t head_max; /* bytes of a head, with the trailer if there is one; less than 4 GiB */
	uint64_t body_max; /* bytes of a body, with what frames its chunks */
};

/* A part of a head, in bytes from the beginning of the request. Nothing begins at 0 but the method. */
struct frame_span {
	uint32_t at, end;
};

/* Zero-initialised but for `limits`: before the first byte of a request. */
struct frame {
	const struct frame_limits *limits;
	enum frame_state           state;  /* FRAME_DONE: its last byte has come */
	enum frame_fault           fault;  /* once there is one it stays, and nothing is read any more */
	const char                *detail; /* what is wrong, for people */
	struct frame_span          method, target, headers[HEADERS]; /* of the first header of each name; at 0: none */
	uint64_t                   head, body;                       /* bytes of it so far */
	uint64_t                   body_at;         /* where the body begins; 0: the head has not ended */
	uint64_t                   length;          /* as Content-Length says */
	uint64_t                   left;            /* bytes of the body or of a chunk that are still to come */
	unsigned                   counts[HEADERS]; /* how many headers of each name */
	int                        header;          /* which the value belongs to; HEADERS: another */
	bool                       is_10;           /* HTTP/1.0 */
	bool                       closes, keeps;   /* so says Connection */
	bool                       continues;       /* 100 Continue is waited for */
	bool                       expects;         /* something that we do not know */
	bool                       trailer;
	unsigned                   word_len;
	char word[24]; /* the version, name or value that is being read, as much of it as matters */
};

/* Reads on, up to the end of the request or to a fault; how many bytes it took. */
size_t frame_read(struct frame *f, const char *bytes, size_t len);
/* The value of a header of a request that is done, without the space around it; NULL: there is none. `bytes` are those
 * of the request; a NUL is written behind the value. */
const char *frame_header(const struct frame *f, char *bytes, enum header header);
/* The body of a request that is done, and its length. If it came in chunks they are put together in place: once. */
char *frame_body(const struct frame *f, char *bytes, size_t *len);
/* Does the connection end with this request, as far as the client says (RFC 9112, 9.3)? */
bool frame_is_last(const struct frame *f);

#endif

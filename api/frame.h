/* frame.h - is it clear what is asked and where it ends? Another reader, a proxy in front of us, must not see another
 * request than we do.
 *
 * A frame follows the bytes of one connection as they come and holds them against the grammar of RFC 9112, without the
 * parts of it that are there for old programs only: a bare LF, a folded header, a name with a space, two lengths, a
 * length with a sign, a chunk with an extension. Pure, allocates nothing. */
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
};

struct frame_limits {
	uint64_t head_max; /* bytes of a head, with the trailer if there is one */
	uint64_t body_max; /* bytes of a body, with what frames its chunks */
};

/* Zero-initialised but for `limits`: before the first byte of a connection. */
struct frame {
	const struct frame_limits *limits;
	enum frame_state           state;
	enum frame_fault           fault;    /* once there is one it stays, and nothing is read any more */
	const char                *detail;   /* what is wrong, for people */
	uint64_t                   complete; /* requests whose last byte has come */
	/* ---- of the request that is being read */
	uint64_t head, body;              /* bytes of it so far */
	uint64_t length;                  /* as Content-Length says */
	uint64_t left;                    /* bytes of the body or of a chunk that are still to come */
	unsigned hosts, lengths, codings; /* how many headers of these names */
	int      header;                  /* which the value belongs to */
	bool     has_body;                /* the method may have one */
	bool     is_10;                   /* HTTP/1.0 */
	bool     expects;                 /* something that we do not know */
	bool     trailer;
	unsigned word_len;
	char     word[24]; /* the method, version, name or value that is being read, as much of it as matters */
};

/* How many of the next `len` bytes are sure to be data of a body; they count as read. */
size_t frame_pass(struct frame *f, size_t len);
/* Reads on, up to a fault. */
void frame_read(struct frame *f, const char *bytes, size_t len);
/* No byte of a further request has come. */
bool frame_is_between(const struct frame *f);

#endif

/* stream.h - the socket of a client, plain or TLS: bytes that come, and bytes that are to go.
 *
 * Most requests come in one piece and most answers fit the socket's buffer. So a plain socket is read into one piece of
 * memory that all streams of a loop share, and written to at once; nothing is kept, and epoll_ctl is not called again.
 * TLS goes through libevent's bufferevent. One thread: the loop's. */
#ifndef STREAM_H
#define STREAM_H

#include "engine/base/text.h"

#include <event2/event_struct.h>
#include <sys/uio.h>

struct bufferevent;
struct tls;

/* Calls to the owner. Each of them may close the stream. */
struct stream_calls {
	/* Bytes came, which may be written over until this returns. Bytes come only while they are wanted. */
	void (*came)(void *arg, char *bytes, size_t len);
	/* All bytes are sent that stream_send could not send at once. */
	void (*taken)(void *arg);
	/* The other side sends no more, or the connection broke. */
	void (*ended)(void *arg);
};

/* What the streams of a loop share. Zero-initialised but for the first three, which the owner sets. */
struct streams {
	struct event_base  *base;
	struct tls         *tls; /* NULL: plain */
	struct stream_calls calls;
	char                piece[64 << 10]; /* bytes that came: they are handed on before the next are read */
};

/* A stream, in the owner's memory; zero-initialised is closed. */
struct stream {
	unsigned            magic;
	int                 fd;
	bool                open;
	bool                wanted;  /* bytes may come */
	bool                watched; /* epoll looks for them */
	bool                heeded;  /* `ended` is called although no bytes are wanted */
	struct bufferevent *tls;     /* NULL: plain */
	struct event        readable, writable;
	struct text         unsent; /* bytes to go, from `sent` on */
	size_t              sent;
	struct streams     *all;
	void               *arg; /* of the calls */
};

/* Takes over a connected socket that does not block. Bytes are not wanted yet. */
void stream_open(struct stream *s, struct streams *all, int fd, void *arg);
void stream_close(struct stream *s); /* closes at once, whatever is unsent */
void stream_want(struct stream *s, bool wanted);
/* `ended` is called at the end although no bytes are wanted, until stream_want, unless unread bytes come before it. */
void stream_heed(struct stream *s);
/* Sends the parts, one after the other, after the unsent bytes. True: all is gone. False: `taken` follows when all is
 * gone, or `ended`. The parts stay the caller's. */
bool stream_send(struct stream *s, const struct iovec *parts, int count) MUST_CHECK;
/* The number of bytes that wait to be sent. */
size_t stream_unsent(const struct stream *s);
/* Ends the sending side; the client sees the end. */
void stream_finish(struct stream *s);

#endif

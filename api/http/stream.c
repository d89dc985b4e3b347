/* stream.c - see stream.h. */
#include "api/http/stream.h"
#include "api/http/tls.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	STREAM_MAGIC = 0x4874534d,
	TLS_AHEAD = 16 << 10, /* bytes read before they are wanted: a TLS record */
};

static struct stream *stream_cast(void *arg)
{
	struct stream *s = arg;

	assert(s->magic == STREAM_MAGIC);
	return s;
}

/* ---- plain */

static bool plain_is_over(int fd)
{
	char    byte;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* The socket stays with epoll until bytes come that are not wanted. Most answers are quicker than the next request, and
 * a call of epoll_ctl costs as much as a read. */
static void plain_readable(evutil_socket_t fd, short what, void *arg)
{
	struct stream *s = stream_cast(arg);
	ssize_t        n;

	(void)what;
	if (!s->wanted && !(s->heeded && plain_is_over(fd))) {
		event_del(&s->readable);
		s->watched = false;
		return;
	}
	n = recv(fd, s->all->piece, sizeof(s->all->piece), 0);
	if (n > 0)
		s->all->calls.came(s->arg, s->all->piece, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		s->all->calls.ended(s->arg);
}

static void unsent_free(struct stream *s)
{
	text_fini(&s->unsent);
	s->sent = 0;
}

static void plain_writable(evutil_socket_t fd, short what, void *arg)
{
	struct stream *s = stream_cast(arg);
	ssize_t        n = send(fd, s->unsent.data + s->sent, s->unsent.len - s->sent, MSG_NOSIGNAL);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	s->sent += n > 0 ? (size_t)n : 0;
	if (n >= 0 && s->sent < s->unsent.len)
		return;
	event_del(&s->writable);
	if (n < 0) {
		s->all->calls.ended(s->arg);
		return;
	}
	unsent_free(s);
	s->all->calls.taken(s->arg);
}

/* Keeps the bytes after the first `sent`, until the socket takes them. */
static void plain_keep(struct stream *s, const struct iovec *parts, int count, size_t sent)
{
	for (int i = 0; i < count; i++) {
		size_t skip = sent < parts[i].iov_len ? sent : parts[i].iov_len;

		text_bytes(&s->unsent, (char *)parts[i].iov_base + skip, parts[i].iov_len - skip);
		sent -= skip;
	}
	event_add(&s->writable, NULL);
}

static bool plain_send(struct stream *s, const struct iovec *parts, int count)
{
	struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
	ssize_t       n = s->unsent.len > 0 ? 0 : sendmsg(s->fd, &message, MSG_NOSIGNAL);
	size_t        all = 0;

	for (int i = 0; i < count; i++)
		all += parts[i].iov_len;
	if (n == (ssize_t)all)
		return true;
	plain_keep(s, parts, count, n > 0 ? (size_t)n : 0);
	return false;
}

static void plain_begin(struct stream *s, struct event_base *base)
{
	int on = 1;

	setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* fails on a unix socket, which does no harm */
	event_assign(&s->readable, base, s->fd, EV_READ | EV_PERSIST, plain_readable, s);
	event_assign(&s->writable, base, s->fd, EV_WRITE | EV_PERSIST, plain_writable, s);
}

/* ---- TLS */

static void tls_readable(struct bufferevent *bev, void *arg)
{
	struct stream *s = stream_cast(arg);
	char          *piece = s->all->piece;
	int            n;

	while (s->open && s->wanted &&
	       (n = evbuffer_remove(bufferevent_get_input(bev), piece, sizeof(s->all->piece))) > 0)
		s->all->calls.came(s->arg, piece, (size_t)n);
}

static void tls_writable(struct bufferevent *bev, void *arg)
{
	struct stream *s = stream_cast(arg);

	(void)bev;
	s->all->calls.taken(s->arg);
}

static void tls_event(struct bufferevent *bev, short what, void *arg)
{
	struct stream *s = stream_cast(arg);

	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		s->all->calls.ended(s->arg);
}

static void tls_want(struct stream *s)
{
	if (!s->wanted && !s->heeded) {
		bufferevent_disable(s->tls, EV_READ);
		return;
	}
	bufferevent_enable(s->tls, EV_READ);
	if (evbuffer_get_length(bufferevent_get_input(s->tls)) > 0)
		bufferevent_trigger(s->tls, EV_READ, BEV_TRIG_DEFER_CALLBACKS);
}

static bool tls_send(struct stream *s, const struct iovec *parts, int count)
{
	for (int i = 0; i < count; i++)
		bufferevent_write(s->tls, parts[i].iov_base, parts[i].iov_len);
	return false;
}

static void tls_begin(struct stream *s, struct event_base *base, struct tls *tls)
{
	s->tls = tls_bufferevent(base, s->fd, tls);
	bufferevent_setcb(s->tls, tls_readable, tls_writable, tls_event, s);
	bufferevent_setwatermark(s->tls, EV_READ, 0, TLS_AHEAD);
	bufferevent_enable(s->tls, EV_WRITE);
}

/* ---- either */

void stream_open(struct stream *s, struct streams *all, int fd, void *arg)
{
	*s = (struct stream){.magic = STREAM_MAGIC, .fd = fd, .open = true, .all = all, .arg = arg};
	if (all->tls)
		tls_begin(s, all->base, all->tls);
	else
		plain_begin(s, all->base);
}

void stream_close(struct stream *s)
{
	assert(s->open);
	s->open = false;
	if (s->tls) {
		if (stream_unsent(s) == 0)
			tls_farewell(s->tls);
		bufferevent_free(s->tls);
		s->tls = NULL;
		return;
	}
	event_del(&s->readable);
	event_del(&s->writable);
	unsent_free(s);
	close(s->fd);
}

void stream_want(struct stream *s, bool wanted)
{
	bool changes = s->wanted != wanted || s->heeded;

	s->wanted = wanted;
	s->heeded = false;
	if (s->tls && changes)
		tls_want(s);
	else if (!s->tls && wanted && !s->watched)
		s->watched = event_add(&s->readable, NULL) == 0;
}

void stream_heed(struct stream *s)
{
	s->heeded = true;
	if (s->tls)
		bufferevent_enable(s->tls, EV_READ); /* bytes stay in the bufferevent, up to its watermark */
	else if (!s->watched)
		s->watched = event_add(&s->readable, NULL) == 0;
}

bool stream_send(struct stream *s, const struct iovec *parts, int count)
{
	return s->tls ? tls_send(s, parts, count) : plain_send(s, parts, count);
}

size_t stream_unsent(const struct stream *s)
{
	return s->tls ? evbuffer_get_length(bufferevent_get_output(s->tls)) : s->unsent.len - s->sent;
}

void stream_finish(struct stream *s)
{
	if (s->tls)
		tls_farewell(s->tls);
	shutdown(s->fd, SHUT_WR);
}

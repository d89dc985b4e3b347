/* listen.h - sockets on which the service listens. All sockets are bound first, so that a wrong address is reported
 * before a database is made or started. They listen when the service can answer: a client that connects earlier is
 * refused. Sockets that another process made and passed (sd_listen_fds(3)) listen before the service starts and after
 * it has ended. Their clients wait meanwhile, and none is refused. Used on the main thread. */
#ifndef LISTEN_H
#define LISTEN_H

#include "engine/base/base.h"

#include <sys/socket.h>

enum { LISTEN_MAX = 16 };

struct event_base;
struct evconnlistener;

struct listening {
	char                    where[160];     /* the address as given */
	char                    address[160];   /* the address for clients: 127.0.0.1:8080, unix:PATH */
	char                    unix_path[108]; /* empty for TCP */
	char                    passed[64];     /* the name under which it was passed; empty: it is ours */
	bool                    open;           /* true: other machines can connect, or other users */
	bool                    made;           /* true: unix_path exists and is unlinked at the end */
	struct sockaddr_storage tcp;
	int                     fd; /* bound; -1: a unix socket that does not listen yet, or the listener's */
	struct evconnlistener  *listener;
};
struct listenings {
	struct listening at[LISTEN_MAX];
	size_t           count;
};

/* Takes the sockets that were passed to this process, in place of the list, and removes them from the environment. If
 * there are none, binds each address of a list, divided by commas: ADDR:PORT (without keys loopback addresses) and
 * unix:PATH, a socket of mode 0660 on which no other program listens. EXIT_DONE; EXIT_UNAVAILABLE: another program
 * listens there; EXIT_CONFIG: the address cannot be used. `why` then holds one clear line, and nothing is bound. */
int listen_bind(struct listenings *ls, const char *list, bool keyed, char *why, size_t why_size) MUST_CHECK;
/* Clients may connect from now on; none is accepted before listen_take. False: another program came first, `why` says
 * which address. */
bool listen_start(struct listenings *ls, struct event_base *base, char *why, size_t why_size) MUST_CHECK;
/* Every client that comes is given to `accepted`, as of an evconnlistener_cb. */
void listen_take(struct listenings *ls,
                 void (*accepted)(struct evconnlistener *l, int fd, struct sockaddr *address, int len, void *arg),
                 void *arg);
void listen_accept(struct listenings *ls, bool on); /* at all addresses; off: the pool has no place for a client */
/* Closes the sockets. One that was passed stays with its owner, and keeps the clients that were not accepted. */
void listen_stop(struct listenings *ls);
void listen_end(struct listenings *ls);             /* closes the sockets and unlinks paths, whatever was begun */

#endif

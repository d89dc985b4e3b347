/* notify.h - what the service manager is told: that the service listens, that it lives, that it ends (sd_notify(3)).
 *
 * The protocol is one datagram to a socket that the manager names; it is spoken here, because the library for it brings
 * four compression and cryptography libraries along. Without a manager all calls do nothing. The loop's thread, and
 * before it the main one. */
#ifndef NOTIFY_H
#define NOTIFY_H

/* Takes what the manager says out of the environment, before anything is started: the private MariaDB speaks the
 * protocol too, and would say that we are ready when it is. */
void notify_open(void);
void notify_ready(void);
void notify_stopping(void);
/* From the loop's tick: says that it lives, where the manager wants to hear it, twice in the time that it waits. */
void notify_alive(void);

#endif

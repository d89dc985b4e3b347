/* notify.h - tells the service manager that the service listens, lives, ends (sd_notify(3)).
 *
 * The protocol is one datagram to a socket that the manager names. It is spoken here, because the library for it brings
 * four compression and cryptography libraries along. Without a manager all calls do nothing. The loop's thread, and
 * before it the main one. */
#ifndef NOTIFY_H
#define NOTIFY_H

/* Takes the manager's variables out of the environment, before anything is started: the private MariaDB speaks the
 * protocol too, and would report us ready when only the database is. */
void notify_open(void);
void notify_ready(void);
void notify_stopping(void);
/* Call from the loop's tick. If the manager asks for signs of life, sends two in the time that the manager waits. */
void notify_alive(void);

#endif

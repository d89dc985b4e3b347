/* serve.h - commands that open a database for a service: `serve`, and `migrate` before it. */
#ifndef SERVE_H
#define SERVE_H

/* Each command returns an exit status, after one line to the person who called. */
int serve_run(void);
int migrate_run(void);

#endif

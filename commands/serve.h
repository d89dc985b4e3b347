/* serve.h - commands that open a database for a service: `serve`, and `migrate` before it. */
#ifndef SERVE_H
#define SERVE_H

/* Each command returns an exit status, after a line that says why it failed. */
int serve_run(void);
int migrate_run(void);

#endif

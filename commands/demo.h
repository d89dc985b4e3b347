/* demo.h - the command `demo`: a made-up shop on an empty service. */
#ifndef DEMO_H
#define DEMO_H

int demo_run(void); /* an exit status */

#endif

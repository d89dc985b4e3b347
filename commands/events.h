/* events.h - the command `events`: what happened, a line of JSON each, for pipes. */
#ifndef EVENTS_H
#define EVENTS_H

int events_run(void); /* an exit status */

#endif

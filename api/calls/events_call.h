/* events_call.h - the call that reads events, and waits for them. */
#ifndef API_EVENTS_H
#define API_EVENTS_H

struct request;

void get_events(struct request *r);

#endif

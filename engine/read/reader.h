/* reader.h - a thread that runs reads, lists, jobs and counts, on a connection of its own. */
#ifndef READER_H
#define READER_H

#include "engine/queue.h"
#include "engine/shared.h"

struct reader;
struct reader *reader_open(struct shared *shared, enum answerer by);
void           reader_close(struct reader *r); /* takes no more, answers what is under way, waits for the thread */
struct queue  *reader_queue(struct reader *r);
bool           reader_connected(struct reader *r); /* any thread */

#endif

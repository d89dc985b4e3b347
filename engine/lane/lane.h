/* lane.h - a lane: one thread, one connection, one slot. It answers the operations that write, many in a transaction.
 */
#ifndef LANE_H
#define LANE_H

#include "engine/queue.h"
#include "engine/shared.h"

struct lane;
struct lane  *lane_open(struct shared *shared, unsigned slot);
void          lane_close(struct lane *l); /* takes no more, answers what is under way, waits for the thread */
struct queue *lane_queue(struct lane *l);
bool          lane_connected(struct lane *l); /* True: the lane is connected and its database answers. Any thread. */

#endif

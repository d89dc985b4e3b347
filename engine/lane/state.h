/* state.h - what a lane has. Private to engine/lane, whose functions each take a lane.
 *
 * Everything of a lane belongs to its thread, but for the queue, which has a lock of its own, and what is atomic. A
 * part that one file alone knows is a pointer here, made and freed by that file. */
#ifndef STATE_H
#define STATE_H

#include "engine/base/ids.h"
#include "engine/db/txn.h"
#include "engine/lane/decide.h"
#include "engine/loop.h"
#include "engine/queue.h"
#include "engine/shared.h"

enum {
	LOCK_WAIT_S = 2, /* for a lock, as db.c has it */
	STUCK_MS = 500,  /* nobody of ours keeps a row as long */
	WARY_MS = 30000, /* lanes look for locked rows so long after one was met that was stuck */
};

struct lane {
	struct shared    *shared;
	struct catalogue *catalogue; /* the shared one */
	struct db        *db;
	pthread_t         thread;
	struct queue      queue;
	unsigned          slot;
	unsigned          past;             /* catalogue_past of what the lane remembers */
	bool              reconnected;      /* likewise: it is of another connection */
	_Atomic bool      connected;        /* for others to read */
	_Atomic int64_t   working_since_ms; /* likewise; 0: it waits for work */
	/* ---- its row: fence.c */
	int64_t          lane_id, epoch, batch_no; /* 0: there is no row yet */
	int64_t          mark, committed_no;       /* of its row, by chance; the batch_no that it is known to have */
	struct ids       id_maker;
	struct txn       txn;
	struct txn_fence fence; /* of its transactions */
	/* ---- the batch under way, and the operations around it: batch.c */
	struct batch   batch;
	struct intake *intake;
	struct outbox  outbox;      /* answered */
	size_t         held;        /* operations that were parked and are not answered yet, wherever they are */
	size_t         limit;       /* of the next batch; halved while conflicts go on */
	size_t         lookups_max; /* ids looked up at once; halved where they have many lines */
	unsigned       failures;    /* in a row, of the database */
	bool           last_failed; /* the last round did */
	/* ---- what is remembered from batch to batch */
	uint64_t       *recents; /* lane.c: hashes of ids written lately, likely replays */
	struct hints   *hints;   /* balance.c */
	struct reclaim *reclaim; /* reclaim.c */
	struct stuck   *stuck;   /* blocked.c */
	bool            hasty;   /* this round waits for no lock */
	int             wait_s;  /* how long the connection waits for one */
	/* ---- scratch */
	struct values rows; /* of a statement */
};

#endif

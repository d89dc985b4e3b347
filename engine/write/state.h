/* state.h - struct lane, private to engine/lane and engine/write. Their functions each take a lane. A lane's thread
 * owns everything in it, except the queue, which has its own lock, and the atomic members. A part that only one file
 * uses is a pointer here, made and freed by that file. */
#ifndef STATE_H
#define STATE_H

#include "engine/base/ids.h"
#include "engine/db/txn.h"
#include "engine/loop.h"
#include "engine/queue.h"
#include "engine/shared.h"
#include "engine/write/batch.h"

enum {
	LOCK_WAIT_S = 2,  /* longest wait for a lock, as engine/db/session.sql sets it */
	STUCK_MS = 500,   /* longer than any lane of Holdfast keeps a row */
	LOCKS_MS = 30000, /* lanes look for locked rows this long after a stuck one was met */
};

struct lane {
	struct shared         *shared;
	struct catalogue      *catalogue; /* the shared one */
	struct db             *db;
	struct source_storage *storage; /* of its source */
	pthread_t              thread;
	struct queue           queue;
	unsigned               slot;
	unsigned               past;             /* catalogue_past of the lane's memory */
	bool                   reconnected;      /* the lane's memory is of an earlier connection */
	_Atomic bool           connected;        /* read by other threads */
	_Atomic int64_t        working_since_ms; /* read by other threads; 0: the lane waits for work */
	/* ---- its writer: fence.c */
	struct db_writer *writer;                 /* of db */
	int64_t           batch_no, committed_no; /* of the batch under way; the last one known to be committed */
	struct ids        id_maker;
	struct txn        txn;
	struct txn_fence  fence;      /* the fence of its transactions */
	int64_t           touched_ms; /* clock_ms when the lane last wrote its writer */
	int64_t           limits_ms; /* clock_ms from which the limits of skus have to be known; 0: see LIMITS_OLD_MS */
	/* ---- the batch under way, and the operations around it: intake.c */
	struct batch   batch;
	struct intake *intake;
	struct outbox  outbox;      /* answered operations */
	size_t         parked;      /* parked operations that are not answered yet, wherever they stand */
	size_t         batch_max;   /* largest size of the next batch; halved while conflicts go on */
	size_t         lookups_max; /* ids looked up at once; halved where they have many lines */
	unsigned       failures;    /* failures of the database in a row */
	bool           last_failed; /* the last round failed */
	/* ---- memory from batch to batch */
	uint64_t       *recents; /* lane.c: hashes of ids written lately, likely replays */
	struct hints   *hints;   /* balance.c */
	struct reclaim *reclaim; /* reclaim.c */
	struct blocked *blocked; /* blocked.c */
	bool            no_wait; /* the round under way waits for no lock */
	int             wait_s;  /* the connection's lock wait */
	/* ---- scratch */
	struct values rows;    /* rows of a statement */
	struct text   wanted;  /* rows of a deduction, as JSON */
	struct text   changes; /* bytes of an event row */
};

#endif

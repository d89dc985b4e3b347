/* pause.h - jobs as an operator sees them: paused or not, what is ready and open, and which workers there are. Claims
 * read the row of their job themselves (task.sql), deliverers twice a second. Functions run on the caller's connection
 * and thread. */
#ifndef PAUSE_H
#define PAUSE_H

#include "engine/base/codes.h"
#include "engine/base/json.h"
#include "engine/db/db.h"
#include "engine/outcome.h"
#include "jobs/background.h"

enum job_name { NO_JOB_NAME, JOB_SETTLE, JOB_EXPIRE, JOB_DELIVER, JOB_NAMES };
const char   *job_word(enum job_name j);
enum job_name job_find(const char *word); /* NO_JOB_NAME: the job is unknown */

enum { JOB_WORKERS_MAX = 100 };
struct job_state {
	enum job_name job;
	bool          paused;
	char          reason[NOTE_MAX + 1], by[ID_MAX + 1]; /* of the pause; empty: none was given */
	int64_t       since;                                /* TIME_NONE: it is not paused */
	int64_t       ready, open; /* see jobs_ready; open: open orders, or webhooks that are served */
};
struct job_workers {
	size_t count;
	struct job_worker {
		enum job_name job;
		char          worker[ID_MAX + 1];
		int64_t       tasks;
	} list[JOB_WORKERS_MAX];
};

/* reason and by may be NULL. */
enum db_result job_pause(struct db *db, enum job_name j, bool paused, const char *reason, const char *by) MUST_CHECK;
/* Reads all jobs, the first at [1]. workers NULL: only whether they are paused. */
enum db_result jobs_read(struct db *db, struct job_state list[JOB_NAMES], struct job_workers *workers) MUST_CHECK;
/* Writes the members of one job; workers NULL: only those of its pause. */
void job_json(struct json_writer *w, const struct job_state *j, const struct job_workers *workers);

/* The chore of a service that looks every two seconds which jobs are paused, and logs changes. */
struct chore pause_chore(void);
bool         pause_known(enum job_name j); /* any thread */

#endif

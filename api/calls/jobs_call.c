/* jobs_call.c - see jobs_call.h. */
#include "api/calls/jobs_call.h"
#include "api/calls/page.h"
#include "api/request.h"
#include "engine/base/memory.h"
#include "jobs/pause.h"

#include <stdio.h>

struct jobs_call {
	struct job_call job;
	/* ---- asked */
	enum job_name name;
	bool          paused;
	char          reason[NOTE_MAX + 1], by[ID_MAX + 1]; /* empty: not given */
	/* ---- answered */
	struct job_state   list[JOB_NAMES];
	struct job_workers workers;
};

static void *call_new(struct request *r)
{
	struct jobs_call *call = mem_alloc(sizeof(*call));

	call->name = job_find(r->param[0]);
	snprintf(call->by, sizeof(call->by), "%s", r->key ? r->key->name : "");
	return call;
}

static const struct job_noun noun = {call_new, NULL};

static void read_put(struct json_reader *in, void *arg)
{
	struct jobs_call *call = arg;
	size_t            len = 0;
	const char       *reason;

	json_bool(in, "paused", JSON_REQUIRED, &call->paused);
	reason = json_note(in, "reason", &len);
	snprintf(call->reason, sizeof(call->reason), "%s", reason ? reason : "");
}

static enum db_result run_put(struct db *db, void *arg)
{
	struct jobs_call *call = arg;
	enum db_result    result;

	call->job.outcome = call->name ? OUTCOME_OK : NO_JOB;
	if (!call->name)
		return DB_OK;
	result = job_pause(db, call->name, call->paused, *call->reason ? call->reason : NULL,
	                   *call->by ? call->by : NULL);
	return result == DB_OK ? jobs_read(db, call->list, NULL) : result;
}

static void put_write(struct json_writer *w, void *arg)
{
	const struct jobs_call *call = arg;

	job_json(w, &call->list[call->name], NULL);
}

const struct job_kind put_job = {&noun, read_put, run_put, put_write, NULL};

static enum db_result run_list(struct db *db, void *arg)
{
	struct jobs_call *call = arg;

	return jobs_read(db, call->list, &call->workers);
}

static void list_write(struct json_writer *w, void *arg)
{
	const struct jobs_call *call = arg;

	json_open_array(w, "items");
	for (enum job_name j = JOB_SETTLE; j < JOB_NAMES; j++) {
		json_open_object(w, NULL);
		job_json(w, &call->list[j], &call->workers);
		json_close_object(w);
	}
	json_close_array(w);
}

const struct job_kind get_jobs = {&noun, NULL, run_list, list_write, NULL};

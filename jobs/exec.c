/* exec.c - see exec.h. One `/bin/sh -c CMD` runs for each claim. The program reads one line of JSON per order, then the
 * end of its input, and answers one line per order (see exec_output.h). The worker writes the answers to the database a
 * few times per lease, which renews it. An answered order has been done outside and must not be done again, whatever
 * becomes of the database. So the worker connects again and holds the answers until they are written. The program's
 * answers wait in the pipe meanwhile, and the time does not count as its silence. A lease may run out meanwhile: a
 * reaper that had to wait itself gives it more time (reap.c). If a reaper has freed the orders all the same, the worker
 * takes them up again under a new task: freed orders wait some seconds before other workers can claim them. */
#include "jobs/exec.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/rows_json.h"
#include "jobs/task/claim.h"
#include "jobs/task/complete.h"
#include "jobs/exec_output.h"
#include "jobs/task/order_index.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* READS: reads more than a pipe holds, so that all output is read before silence is judged; it also bounds a program
 * that prints for ever. REFUSED_MS: how long the database may refuse the answers at the end. LAST_MS: how long a worker
 * that is to stop tries to write them. */
enum { END_MS = 1000, PAUSE_MS = 100, PAUSE_MS_MAX = 2000, READS = 200, REFUSED_MS = 60000, LAST_MS = 10000 };

struct exec {
	const struct work *work;
	struct task        task;
	struct db         *db;
	struct answers     answers;
	struct text        input; /* input still to be written to the program */
	size_t             written;
	int                to, from; /* pipes; -1 once closed */
	pid_t              pid;
	int64_t heard_ms; /* clock_ms of the last answer, plus the time that the worker waited for the database since */
	bool    news;     /* an answer came since the lease was renewed */
	bool    reaped;   /* the task was reaped or returned: the worker has lost it */
	bool    ends;     /* the program may be at work on orders of another worker: end it at once */
	bool    lease_lost;
	int64_t lost;    /* orders that the worker has no more */
	int64_t refused; /* orders that the database would not have completed */
};

/* ---- running programs, each in its own process group */

static struct {
	pthread_mutex_t lock;
	pid_t           group[WORKERS_MAX]; /* 0: a free place */
	bool            over;               /* no program is started any more */
} running = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Keeps the lock: a worker that waits for it cannot take the end of its killed program for an answer before this
 * process has ended. */
void exec_kill_all(void)
{
	pthread_mutex_lock(&running.lock);
	running.over = true;
	for (size_t i = 0; i < WORKERS_MAX; i++)
		if (running.group[i])
			kill(-running.group[i], SIGKILL);
}

static size_t running_place(pid_t pid)
{
	size_t i = 0;

	while (i < WORKERS_MAX && running.group[i] != pid)
		i++;
	assert(i < WORKERS_MAX);
	return i;
}

static bool running_spawn(pid_t *pid, const posix_spawn_file_actions_t *files, const posix_spawnattr_t *attributes,
                          char **argv)
{
	bool ok;

	pthread_mutex_lock(&running.lock);
	ok = !running.over && posix_spawn(pid, "/bin/sh", files, attributes, argv, environ) == 0;
	if (ok)
		running.group[running_place(0)] = *pid;
	pthread_mutex_unlock(&running.lock);
	return ok;
}

/* Kills the rest of a process group. Its leader is not waited for yet, so the system has not given its number to
 * another process. */
static void running_end(pid_t pid)
{
	pthread_mutex_lock(&running.lock);
	kill(-pid, SIGKILL);
	running.group[running_place(pid)] = 0;
	pthread_mutex_unlock(&running.lock);
}

/* ---- the program's input */

static void input_write(struct exec *x)
{
	for (size_t i = 0; i < x->answers.count; i++) {
		const struct reservation *r = x->answers.orders[i];
		struct json_writer        w = {.to = &x->input};
		char                      name[ANSWER_NAME_SIZE];

		json_open_object(&w, NULL);
		json_put_string(&w, "order_id", r->order_id);
		answer_name(name, r->order_id);
		json_put_string(&w, "answer", name);
		json_put_int(&w, "attempts", r->attempts);
		lines_json(&w, r->lines, r->lines_count);
		json_close_object(&w);
		text_char(&x->input, '\n');
	}
}

static void pipe_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Starts the program in a group of its own, so that its children can be ended with it. */
static bool program_start(struct exec *x)
{
	int                        in[2] = {-1, -1}, out[2] = {-1, -1};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t          attributes;
	char                      *argv[] = {"sh", "-c", (char *)(uintptr_t)x->work->exec, NULL};
	sigset_t                   none, pipes;
	bool                       ok = pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0;

	sigemptyset(&none);
	sigemptyset(&pipes);
	sigaddset(&pipes, SIGPIPE);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
	/* A library marks its sockets as close-on-exec only after it has opened them, so a socket of another worker may
	 * be open in the program. */
	posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &pipes); /* ignored here; the program would inherit that */
	ok = ok && running_spawn(&x->pid, &files, &attributes, argv);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	pipe_close(&in[0]);
	pipe_close(&out[1]);
	x->to = in[1];
	x->from = out[0];
	fcntl(x->to, F_SETFL, O_NONBLOCK);
	fcntl(x->from, F_SETFL, O_NONBLOCK);
	return ok;
}

/* ---- the program's answers */

static void bytes_take(struct exec *x, const char *bytes, size_t len)
{
	if (answers_take(&x->answers, bytes, len)) {
		x->heard_ms = clock_ms();
		x->news = true;
	}
}

static void output_flow(struct exec *x)
{
	char    buffer[8192];
	ssize_t n = 1;

	for (int i = 0; i < READS && (n = read(x->from, buffer, sizeof(buffer))) > 0; i++)
		bytes_take(x, buffer, (size_t)n);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		bytes_take(x, "\n", 1); /* the last line may lack its end */
		pipe_close(&x->from);
	}
}

/* ---- writing the answers */

static bool is_due(enum said said, bool done)
{
	return done ? said == SAID_DONE : said == SAID_RETRY || said == SAID_BURY;
}

/* Writes the orders that are done, or those that failed. */
static enum db_result answers_write(struct exec *x, bool done)
{
	const struct work *work = x->work;
	struct answers    *a = &x->answers;
	struct task_answer out = {0};
	struct report     *reports = mem_alloc(a->count * sizeof(*reports));
	size_t             count = 0;
	enum db_result     result = DB_OK;

	for (size_t i = 0; i < a->count; i++)
		if (is_due(a->said[i], done)) {
			reports[count] = (struct report){.retry = a->said[i] == SAID_RETRY, .error = a->reasons[i]};
			strcpy(reports[count++].order_id, a->orders[i]->order_id);
		}
	if (count > 0)
		result = done ? task_complete(x->db, x->task.task_id, reports, count, &out)
		              : task_fail(x->db, x->task.task_id, reports, count, work->attempts_max, &out);
	x->reaped = result == DB_OK && (out.lease_lost || out.task.state == TASK_RETURNED);
	for (size_t i = 0; result == DB_OK && !x->reaped && i < a->count; i++)
		if (is_due(a->said[i], done))
			a->said[i] = WRITTEN;
	if (result == DB_OK && !x->reaped) {
		x->refused += out.refused;
		x->lost += out.lost - out.refused; /* orders released by a client, for instance */
	}
	task_answer_fini(&out);
	free(reports);
	return result;
}

static bool is_open(const struct answers *a)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->said[i] != WRITTEN)
			return true;
	return false;
}

/* A task that is done has no lease to renew. */
static enum db_result lease_renew(struct exec *x)
{
	struct task_answer a;
	enum db_result     result;

	if (!is_open(&x->answers))
		return DB_OK;
	result = task_heartbeat(x->db, x->task.task_id, x->work->lease_s, &a);
	x->reaped = result == DB_OK && a.task.state != TASK_OPEN && a.task.state != TASK_DONE;
	task_answer_fini(&a);
	return result;
}

/* True: another worker has begun the order, under another task. */
static bool is_anothers(const struct reservation *r, uint64_t of)
{
	return r && r->task_id > 0 && r->task_id != of && r->state != RELEASED;
}

/* Drops the answers for orders that did not come into the new task, unless they were written before. If an order
 * without an answer is another worker's now, the program ends, because it may be at work on that order. `now`: the
 * orders as they are. */
static void others_give_up(struct exec *x, uint64_t of, const struct reservation_reader *now)
{
	struct answers    *a = &x->answers;
	struct order_index by_id = order_index_rows(now);

	for (size_t i = 0; i < a->count; i++) {
		const struct reservation *r = order_index_row(&by_id, a->orders[i]->order_id);
		bool                      written;

		if (r && r->reservation_id != a->orders[i]->reservation_id)
			r = NULL; /* a new order with the same id */
		written = r && r->state == SETTLED && r->task_id == of;
		if (x->task.task_id > 0 && r && r->task_id == x->task.task_id)
			a->orders[i]->attempts = r->attempts; /* kept for the next time */
		else if (a->said[i] != WRITTEN) {
			x->ends |= a->said[i] == SILENT && is_anothers(r, of);
			a->said[i] = WRITTEN;
			x->lost += !written;
			x->lease_lost = true;
		}
	}
	order_index_fini(&by_id);
}

static enum db_result task_go_on(struct exec *x)
{
	struct reservation      **open = mem_alloc(x->answers.count * sizeof(*open));
	struct reservation_reader now;
	size_t                    count = 0;
	uint64_t                  of = x->task.task_id;
	enum db_result            result;

	for (size_t i = 0; i < x->answers.count; i++)
		if (x->answers.said[i] != WRITTEN)
			open[count++] = x->answers.orders[i];
	result = task_take_up(x->db, &x->task, x->work->lease_s, open, count, &now);
	if (result == DB_OK) {
		if (x->from >= 0)
			output_flow(x); /* answers that came while the worker waited for the database */
		others_give_up(x, of, &now);
		if (x->task.task_id > 0)
			log_event(LOG_WARN, "task_taken_up", "task=%llu of=%llu orders=%lld",
			          (unsigned long long)x->task.task_id, (unsigned long long)of,
			          (long long)x->task.claimed);
		else
			x->task.task_id = of;
		x->reaped = false;
		x->task.mark = 0;
	}
	reservations_free(now.list, now.count);
	free(open);
	return result;
}

/* Writes the answers, except for orders that other workers are known to have, and renews the lease. */
static enum db_result answers_bring(struct exec *x)
{
	enum db_result result = DB_OK;

	if (!db_connected(x->db) && !db_connect(x->db))
		return DB_AWAY;
	while (result == DB_OK && is_open(&x->answers)) {
		if (!x->reaped)
			result = answers_write(x, true);
		if (result == DB_OK && !x->reaped)
			result = answers_write(x, false);
		if ((result == DB_OK || result == DB_LOCKED || result == DB_ERROR) && !x->reaped) {
			enum db_result renewed = lease_renew(x); /* also when a row is locked or refused */

			result = result == DB_OK ? renewed : result;
		}
		if (result == DB_OK && !x->reaped)
			break;
		if (result == DB_OK)
			result = task_go_on(x);
	}
	return result;
}

/* ---- the run */

static void input_flow(struct exec *x)
{
	ssize_t n = write(x->to, x->input.data + x->written, x->input.len - x->written);

	if (n > 0)
		x->written += (size_t)n;
	if (x->written == x->input.len || (n < 0 && errno != EAGAIN && errno != EINTR))
		pipe_close(&x->to);
}

/* Follows the program until it closes its output, is silent for a lease, or the lease is lost. When the database fails
 * the worker goes on reading: the next write tries again. */
static void program_follow(struct exec *x)
{
	int64_t lease_ms = x->work->lease_s * 1000, renewed_ms = clock_ms();

	x->heard_ms = clock_ms();
	while (x->from >= 0 && !x->ends && clock_ms() - x->heard_ms < lease_ms) {
		struct pollfd fds[2] = {{x->from, POLLIN, 0}, {x->to, POLLOUT, 0}};

		poll(fds, x->to >= 0 ? 2 : 1, PAUSE_MS);
		if (x->to >= 0 && fds[1].revents)
			input_flow(x);
		if (fds[0].revents)
			output_flow(x);
		if (clock_ms() - renewed_ms > lease_ms / 3 && x->news) {
			int64_t since_ms = clock_ms();

			if (answers_bring(x) == DB_OK) {
				renewed_ms = since_ms;
				x->news = false;
			}
			x->heard_ms += clock_ms() - since_ms;
		}
	}
	if (x->from >= 0)
		log_event(LOG_WARN, "exec_killed", "task=%llu why=%s", (unsigned long long)x->task.task_id,
		          x->ends ? "lease_lost" : "silent");
}

/* Ends a program. A program that closed its output has END_MS to end by itself; then its whole group is killed. Its
 * last answers are still in the pipe. */
static void program_end(struct exec *x)
{
	struct pollfd ended = {pidfd_open(x->pid, 0), POLLIN, 0};
	int64_t       until;
	int           status = 0;

	pipe_close(&x->to);
	poll(&ended, 1, x->from >= 0 ? 0 : END_MS);
	pipe_close(&ended.fd);
	running_end(x->pid);
	while (waitpid(x->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	until = clock_ms() + END_MS; /* a child that left the group may hold the pipe */
	do {
		struct pollfd from = {x->from, POLLIN, 0};

		if (x->from >= 0 && poll(&from, 1, PAUSE_MS) > 0)
			output_flow(x);
	} while (x->from >= 0 && clock_ms() < until);
	pipe_close(&x->from);
	if (WIFSIGNALED(status) || WEXITSTATUS(status) != 0)
		log_event(LOG_WARN, "exec_ended", "task=%llu status=%d", (unsigned long long)x->task.task_id,
		          WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* Writes the answers of a program that has ended. The worker holds them until they are written, however long the
 * database is away, unless the worker is to stop or the schema is another one. The log names answers that could not be
 * written. */
static enum db_result answers_end(struct exec *x)
{
	int64_t        stops_ms = 0, refused_ms = 0, pause_ms = PAUSE_MS; /* refused_ms: begin of a row of refusals */
	enum db_result result;

	while ((result = answers_bring(x)) != DB_OK) {
		if (result != DB_ERROR)
			refused_ms = 0;
		else if (refused_ms == 0)
			refused_ms = clock_ms();
		if (stops_ms == 0 && stop_wait(x->work->stop, 0))
			stops_ms = clock_ms();
		if ((refused_ms && clock_ms() - refused_ms > REFUSED_MS) ||
		    (stops_ms && clock_ms() - stops_ms > LAST_MS) || (!db_connected(x->db) && db_other_schema(x->db)))
			break;
		pause_ms = refused_ms == 0 ? PAUSE_MS : pause_ms * 2 < PAUSE_MS_MAX ? pause_ms * 2 : PAUSE_MS_MAX;
		usleep((useconds_t)pause_ms * 1000);
	}
	for (size_t i = 0; result != DB_OK && i < x->answers.count; i++)
		if (x->answers.said[i] == SAID_DONE || x->answers.said[i] == SAID_BURY)
			log_event(LOG_ERROR, "answer_lost", "task=%llu order=%s said=%s",
			          (unsigned long long)x->task.task_id, x->answers.orders[i]->order_id,
			          x->answers.said[i] == SAID_DONE ? "done" : "bury");
	return result;
}

enum db_result exec_run(struct db *db, const struct work *work, const struct task *task, struct reservation **orders,
                        size_t count, int64_t *refused)
{
	struct exec    x = {.work = work, .task = *task, .db = db, .to = -1, .from = -1};
	enum db_result result;

	x.task.mark = 0;
	answers_init(&x.answers, orders, count);
	input_write(&x);
	if (program_start(&x)) {
		program_follow(&x);
		program_end(&x);
	}
	pipe_close(&x.to);
	pipe_close(&x.from);
	if (x.answers.strays > 0)
		log_event(LOG_WARN, "answer_astray", "task=%llu answers=%lld first=%s",
		          (unsigned long long)task->task_id, (long long)x.answers.strays, x.answers.stray);
	for (size_t i = 0; i < count; i++)
		if (x.answers.said[i] == SILENT) {
			x.answers.said[i] = SAID_RETRY;
			x.answers.reasons[i] = mem_copy("no answer");
		}
	result = answers_end(&x);
	if (x.lost > 0)
		log_event(LOG_WARN, "orders_lost", "task=%llu lost=%lld lease_lost=%d",
		          (unsigned long long)task->task_id, (long long)x.lost, x.lease_lost);
	*refused = x.refused;
	answers_fini(&x.answers);
	text_fini(&x.input);
	return result;
}

/* events.c - the command `events`: a line for each event on stdout, and at the end the cursor on stderr, a line of its
 * own.
 *
 * No transaction is open while a page is written, however slowly the other end of a pipe reads. The cursor stands after
 * the last line that stdout has taken. */
#include "commands/events.h"
#include "commands/database.h"
#include "commands/options.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/log/event_json.h"
#include "engine/log/feed.h"
#include "engine/catalogue/past.h"
#include "jobs/stop.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_MS = 200 };

struct events {
	struct event_filter filter;
	bool                follows;
	struct stop        *stop;
	struct db          *db;
	struct catalogue   *catalogue;
	struct feed        *feed;
	bool                away;    /* the database was away at the last try */
	int                 trouble; /* errno of stdout; EPIPE: it is closed */
	char               *cursor;  /* after the last line written; at first --after */
	bool                began;   /* the cursor is one that the feed gave */
};

/* ---- writing */

/* A page as text, and where its lines end. */
struct lines {
	struct text text;
	size_t     *ends, count, max;
};

static void lines_make(struct lines *l, const struct feed_page *page)
{
	l->count = 0;
	text_reset(&l->text);
	for (size_t i = 0; i < page->count; i++) {
		event_json(&l->text, page->events[i]);
		text_char(&l->text, '\n');
		l->ends = mem_reach(l->ends, l->count, &l->max, sizeof(*l->ends));
		l->ends[l->count++] = l->text.len;
	}
}

static void lines_fini(struct lines *l)
{
	text_fini(&l->text);
	free(l->ends);
}

/* A pipe that is ready takes PIPE_BUF bytes without waiting (pipe(7)). Returns how many bytes were taken: less than all
 * where stdout takes no more, or is full when all is to end. */
static size_t bytes_write(struct events *e, const char *from, size_t len)
{
	size_t done = 0;

	while (done < len && !e->trouble) {
		struct pollfd fds[] = {{STDOUT_FILENO, POLLOUT, 0}, {e->stop->wakes, POLLIN, 0}};
		int           ready = poll(fds, LENGTH(fds), -1);
		ssize_t       n = 0;

		if (ready > 0 && fds[0].revents)
			n = write(STDOUT_FILENO, from + done, len - done < PIPE_BUF ? len - done : PIPE_BUF);
		if ((n < 0 || ready < 0) && errno != EINTR && errno != EAGAIN)
			e->trouble = errno;
		if (ready > 0 && !fds[0].revents)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	return done;
}

/* Half a line at the end of a file is cut off, so that the next writer begins a new line. In a pipe it stays, and a
 * message says so. */
static void half_line_end(size_t half)
{
	struct stat st;
	off_t       end = lseek(STDOUT_FILENO, 0, SEEK_CUR), begin = end - (off_t)half;

	if (half > 0 && !(fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == end &&
	                  ftruncate(STDOUT_FILENO, begin) == 0 && lseek(STDOUT_FILENO, begin, SEEK_SET) == begin))
		say("the last %zu bytes that stdout has taken are half a line", half);
}

/* Returns how many lines were written whole. */
static size_t lines_write(struct events *e, const struct lines *l)
{
	size_t done = 0, at = 0, want = 0, many;

	while (done < l->count && at == want && !stop_wait(e->stop, 0)) {
		for (many = 1; done + many < l->count && l->ends[done + many] - at <= PIPE_BUF; many++)
			continue;
		want = l->ends[done + many - 1];
		at += bytes_write(e, l->text.data + at, want - at);
		while (done < l->count && l->ends[done] <= at)
			done++;
	}
	if (at < want && e->trouble != EPIPE)
		half_line_end(at - (done ? l->ends[done - 1] : 0));
	return done;
}

/* ---- reading */

static bool events_connect(struct events *e)
{
	return db_connected(e->db) || db_connect(e->db);
}

static enum db_result events_read(struct events *e, struct feed_page *page, enum outcome *outcome)
{
	*page = (struct feed_page){0};
	if (!events_connect(e))
		return DB_AWAY;
	return feed_read(e->feed, e->db, e->cursor, &e->filter, FEED_LIMIT_MAX, page, outcome);
}

/* Writes a page. false: stdout takes no more, or all is to end. */
static bool events_write(struct events *e, const struct feed_page *page)
{
	struct lines lines = {0};
	size_t       written;
	bool         whole;

	lines_make(&lines, page);
	written = lines_write(e, &lines);
	whole = written == page->count;
	free(e->cursor);
	e->cursor = whole ? mem_copy(page->cursor) : feed_cursor(page, written);
	e->began = true;
	lines_fini(&lines);
	return whole;
}

/* Pauses. False: all is to end, or the reader of stdout has gone. */
static bool events_rest(struct events *e)
{
	struct pollfd out = {STDOUT_FILENO, 0, 0};

	return !stop_wait(e->stop, LOOK_MS) && (poll(&out, 1, 0) <= 0 || !(out.revents & (POLLERR | POLLHUP)));
}

/* Waits until there may be something new. True: there may be; false: all is to end. */
static bool events_wait(struct events *e)
{
	bool news = false;

	while (!news) {
		if (!events_rest(e))
			return false;
		news = !events_connect(e) || feed_look(e->feed, e->db, &news) != DB_OK || news;
	}
	return true;
}

/* With --follow the command waits for a database that is away. EXIT_DONE: another try is due. */
static int events_failed(struct events *e)
{
	if (!e->follows || db_misfits(e->db) || db_refused(e->db))
		return say_status(EXIT_UNAVAILABLE, "the database did not do it: %s", db_error(e->db));
	if (!e->away)
		log_event(LOG_WARN, "database_away", "why=%s", db_error(e->db));
	e->away = true;
	return EXIT_DONE;
}

static int events_follow(struct events *e)
{
	int  status = EXIT_DONE;
	bool more = true;

	while (more && status == EXIT_DONE) {
		struct feed_page page;
		enum outcome     outcome = OUTCOME_OK;
		enum db_result   result = events_read(e, &page, &outcome);

		if (result != DB_OK) {
			status = events_failed(e);
			more = status == EXIT_DONE && events_rest(e);
		} else if (outcome != OUTCOME_OK) {
			status = say_status(EXIT_TROUBLE, "%s: %s", outcome_code(outcome), outcome_detail(outcome));
			e->began = false;
		} else {
			e->away = false;
			more = events_write(e, &page) && (page.more || (e->follows && events_wait(e)));
		}
		feed_page_fini(&page);
	}
	if (!e->trouble || e->trouble == EPIPE)
		return status;
	return say_status(EXIT_TROUBLE, "stdout takes no more: %s", strerror(e->trouble));
}

/* ---- the command */

static int events_open(struct events *e)
{
	struct database database;
	int             status = database_open(&database, EMBEDDED_FIND, false);

	if (status != EXIT_DONE)
		return status;
	database_watch(&database);
	e->catalogue = catalogue_new();
	past_watch(database.source, e->catalogue);
	e->feed = feed_new(e->catalogue);
	e->db = db_new(database.source);
	status = events_follow(e);
	db_free(e->db);
	feed_free(e->feed);
	catalogue_free(e->catalogue);
	status = database_close(&database, status);
	if (e->began)
		fprintf(stderr, "%s\n", e->cursor);
	return status;
}

int events_run(void)
{
	struct events e = {0};
	int           status;

	if (!event_filter_read(option_text(OPTION_types), &e.filter))
		return say_status(EXIT_USAGE, "--types names an unknown type of event; see docs/events.md");
	e.follows = option_given(OPTION_follow);
	e.cursor = mem_copy(option_text(OPTION_after));
	e.stop = stop_on_signals(NULL);
	status = events_open(&e);
	free(e.cursor);
	return status;
}

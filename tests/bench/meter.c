/* meter.c - see meter.h. */
#include "engine/base/log.h"
#include "meter.h"
#include "trips.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIBRARY "bench-trips.so" /* beside this program */

enum { LOOK_US = 50000, LOOKS_STILL = 4, LOOKS_MAX = 200, FIRST_READINGS = 10 };

/* ---- the server's counters */

struct counters {
	int64_t handlers, redo;
	int64_t history; /* old versions that are still to be purged: a purge writes redo, too */
};

static const char counters_sql[] = "SELECT SUM(IF(variable_name LIKE 'HANDLER\\_%', variable_value, 0)),"
				   " SUM(IF(variable_name = 'INNODB_LSN_CURRENT', variable_value, 0)),"
				   " SUM(IF(variable_name = 'INNODB_HISTORY_LIST_LENGTH', variable_value, 0))"
				   " FROM information_schema.global_status";

static void counters_row(void *arg, const struct db_row *row)
{
	*(struct counters *)arg = (struct counters){db_int(row, 0), db_int(row, 1), db_int(row, 2)};
}

static bool counters_read(struct meter *m, struct counters *to)
{
	*to = (struct counters){0};
	if (db_text(m->db, counters_sql, counters_row, to) != DB_OK) {
		say("bench: the server does not say what it did: %s", db_error(m->db));
		return false;
	}
	return true;
}

/* Learns the cost of a reading: the difference between two of them while nothing else goes on. */
static bool reading_learn(struct meter *m)
{
	struct counters before, now;

	if (!counters_read(m, &before))
		return false;
	m->reading = INT64_MAX;
	for (int i = 0; i < FIRST_READINGS; i++, before = now) {
		if (!counters_read(m, &now))
			return false;
		if (now.handlers - before.handlers < m->reading)
			m->reading = now.handlers - before.handlers;
	}
	return true;
}

static bool counters_still(struct meter *m, struct counters *now)
{
	struct counters before = {0};
	int             still = 0;

	for (int i = 0; i < LOOKS_MAX && still < LOOKS_STILL; i++, before = *now) {
		usleep(LOOK_US);
		if (!counters_read(m, now))
			return false;
		now->handlers -= ++m->readings * m->reading;
		if (now->handlers == before.handlers && now->redo == before.redo && now->history == 0)
			still++;
		else
			still = 0;
	}
	if (still < LOOKS_STILL)
		say("bench: the database does not come to rest");
	return true;
}

/* ---- round trips */

void trips_preload(const char *file)
{
	char    library[512 + sizeof(LIBRARY)];
	ssize_t len = readlink("/proc/self/exe", library, 511);

	if (!file) {
		unsetenv("LD_PRELOAD");
		return;
	}
	library[len > 0 ? len : 0] = '\0';
	strcpy(strrchr(library, '/') ? strrchr(library, '/') + 1 : library, LIBRARY);
	setenv("LD_PRELOAD", library, 1);
	setenv(TRIPS_FILE, file, 1);
}

/* ---- all of it */

bool meter_init(struct meter *m, struct bench *b)
{
	void *shared = MAP_FAILED;

	*m = (struct meter){.bench = b, .file = memfd_create("trips", MFD_CLOEXEC)};
	if (m->file >= 0 && ftruncate(m->file, sizeof(*m->trips)) == 0)
		shared = mmap(NULL, sizeof(*m->trips), PROT_READ | PROT_WRITE, MAP_SHARED, m->file, 0);
	if (shared == MAP_FAILED) {
		close(m->file);
		say("bench: no memory to count trips in");
		return false;
	}
	m->trips = shared;
	snprintf(m->path, sizeof(m->path), "/proc/%d/fd/%d", getpid(), m->file);
	b->trips = m->path;
	return true;
}

void meter_fini(struct meter *m)
{
	db_free(m->db);
	if (m->trips) {
		munmap(m->trips, sizeof(*m->trips));
		close(m->file);
	}
	*m = (struct meter){0};
}

bool meter_open(struct meter *m)
{
	m->db = db_new_alone(&m->bench->database);
	if (db_connect(m->db))
		return reading_learn(m);
	say("bench: the server does not let us read its counters: %s", db_error(m->db));
	return false;
}

bool meter_read(struct meter *m, double costs[COSTS])
{
	struct counters counters;

	if (!counters_still(m, &counters))
		return false;
	costs[COST_SERVICE] = process_cpu(m->bench->service.pid) * 1e6;
	costs[COST_DATABASE] = process_cpu(m->bench->server) * 1e6;
	costs[COST_CPU] = costs[COST_SERVICE] + costs[COST_DATABASE];
	costs[COST_REDO] = (double)counters.redo;
	costs[COST_HANDLERS] = (double)counters.handlers;
	costs[COST_TRIPS] = (double)atomic_load(&m->trips->count);
	return true;
}

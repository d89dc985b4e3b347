/* test_fault.c - a slice of every drill of tests/fault: some seconds of what `make fault` does for half an hour. */
#include "tests/kit/drill.h"
#include "tests/kit/program.h"
#include "tests/kit/scratch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SH_NOT_FOUND = 127 };

/* The reason that stands in the line below "NAME skipped", if a drill was. */
static const char *skipped(struct text *said)
{
	char *at = said->data ? strstr(said->data, " skipped  ") : NULL, *end;

	if (!at || !(at = strchr(at, '\n')))
		return NULL;
	at += strspn(at, "\n ");
	end = strchr(at, '\n');
	if (end)
		*end = '\0';
	return at;
}

static void drill(const char *name)
{
	const char *why;
	char        command[600], log[300];
	struct text said = {0};
	int         status;

	snprintf(log, sizeof(log), "%s/fault-%s.log", scratch_dir(), name);
	snprintf(command, sizeof(command),
	         "python3 tests/fault/fault.py --slice --drill %s --holdfast %s --folder %s --template %s/template "
	         ">%s 2>&1",
	         name, program_path(), scratch_dir(), scratch_dir(), log);
	status = system(command);
	program_log_tail(log, &said);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SH_NOT_FOUND)
		cr_skip_test("needs python3");
	why = skipped(&said);
	if (status == 0 && why)
		cr_skip_test("%s", why);
	cr_assert_eq(status, 0, "%s", said.data);
	text_fini(&said);
}

#define SLICE(test, name)        \
	Test(fault, test, DRILL) \
	{                        \
		drill(name);     \
	}

SLICE(cells, "cells")
SLICE(replica, "replica")
SLICE(checker, "checker")
SLICE(atomic, "atomic")
SLICE(kill_database, "kill-database")
SLICE(kill_service, "kill-service")
SLICE(events, "events")
SLICE(races, "races")
SLICE(network, "network")
SLICE(half_open, "half-open")
SLICE(stopped_database, "stopped-database")
SLICE(locks, "locks")
SLICE(clocks, "clocks")
SLICE(clocks_service, "clocks-service")
SLICE(terminate, "terminate")
SLICE(terminate_hung, "terminate-hung")
SLICE(rolling_restart, "rolling-restart")
SLICE(door, "door")
SLICE(nginx, "nginx")
SLICE(haproxy, "haproxy")
SLICE(caddy, "caddy")
SLICE(descriptors, "descriptors")
SLICE(restore, "restore")
SLICE(soak, "soak")
SLICE(cluster, "cluster-mixed")
SLICE(cluster_adopt, "cluster-adopt")

/* test_memory.c - a service that runs out of memory says so in one line and ends, and everything that it acknowledged
 * is there after a restart. */
#include "tests/lang/attack.h"
#include "tests/lang/flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The address space that a process has, in bytes. */
static size_t space_of(int pid)
{
	char   path[40];
	size_t pages = 0;
	FILE  *file;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	file = fopen(path, "re");
	cr_assert(file && fscanf(file, "%zu", &pages) == 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* From now on the program gets no more memory from the kernel. */
static void memory_end(int pid)
{
	struct rlimit space = {space_of(pid), RLIM_INFINITY};

	cr_assert(prlimit(pid, RLIMIT_AS, &space, NULL) == 0);
}

static void pressure(int port)
{
	static char body[4 << 20];
	int         fd = attack_open(port);

	attack_say(fd, "POST /v1/reservations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8000000\r\n\r\n");
	memset(body, ' ', sizeof(body));
	attack_send(fd, body, sizeof(body));
	close(fd);
}

Test(memory, ends_and_nothing_acknowledged_is_lost)
{
	const struct answer *answers;
	struct race         *race;
	struct text          said = {0};
	siginfo_t            end = {0};
	int                  count, acknowledged = 0;

	if (attack_rss(getpid()) == 0)
		cr_skip_test("AddressSanitizer takes all address space at once");
	setenv("MALLOC_ARENA_MAX", "1", 1); /* no room is reserved that could still be given out */
	flow_begin();
	flow_steps("receipt A +100000 -> 201",
	           "reserve R A=1     -> 201");
	race = flow_race("8*2000", "reserve R# A=1");
	flow_step("wait sql SELECT COUNT(*) > 100 FROM reservation -> 1");
	memory_end(flow_pid(0));
	pressure(flow_port(0));
	cr_assert(waitid(P_PID, (id_t)flow_pid(0), &end, WEXITED | WNOWAIT) == 0);
	cr_expect(end.si_code == CLD_EXITED && end.si_status == EXIT_TROUBLE, "status %d", end.si_status);
	answers = race_finish(race, &count);
	flow_said(&said);
	cr_expect(strstr(said.data, "level=error event=no_memory bytes="), "%s", said.data);
	flow_step("kill");
	for (int i = 0; i < count; i++)
		if (answers[i].status == 201) {
			flow_step("get R%d -> 200 held", i);
			acknowledged++;
		}
	cr_expect(acknowledged > 0 && acknowledged < count, "%d of %d were acknowledged", acknowledged, count);
	race_free(race);
	text_fini(&said);
	flow_end();
}

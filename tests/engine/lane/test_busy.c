/* test_busy.c - why an answer was `busy`: each cause has its counter, and a line in the log at level debug. The cause
 * queue_full: test_row_lock.c. */
#include "tests/lang/attack.h"
#include "tests/lang/flow.h"
#include "tests/lang/trap.h"

#include <string.h>
#include <unistd.h>

enum { CONFLICTS_US = 2000000 };

static void said(const char *line)
{
	struct text log = {0};

	flow_said(&log);
	cr_expect(strstr(log.data, line), "nothing says %s", line);
	text_fini(&log);
}

static void causes(const char *but)
{
	static const char *const all[] = {"queue_full", "reader_full", "buffers_full",  "waited",
	                                  "row_locked", "conflicts",   "reader_failed", "no_thread"};

	for (size_t i = 0; i < LENGTH(all); i++)
		flow_step("raw GET /metrics -> 200 holdfast_busy_total{cause=%s}=%d", all[i], strcmp(all[i], but) == 0);
}

Test(busy, row_that_stays_locked)
{
	flow_begin();
	flow_step("serve --lanes 1 --log-level debug");
	flow_steps("receipt A +10 -> 201",
	           "reserve R A=1 -> 201");
	trap_lock("SELECT slot FROM stock_slot FOR UPDATE");
	flow_step("reserve W A=1 -> 503 busy");
	trap_unlock();
	causes("row_locked");
	said("level=debug event=busy cause=row_locked id=W\n");
	flow_end();
}

Test(busy, conflicts_without_an_end)
{
	flow_begin();
	flow_step("serve --lanes 1 --log-level debug");
	flow_steps("receipt A +10 -> 201",
	           "sql CREATE TRIGGER conflict BEFORE INSERT ON reservation_line FOR EACH ROW SIGNAL SQLSTATE '40001'"
	           " SET MYSQL_ERRNO = 1213 -> ",
	           "reserve C A=1 -> 503 busy",
	           "sql DROP TRIGGER conflict -> ",
	           "reserve C A=1 -> 201 held");
	causes("conflicts");
	said("level=debug event=busy cause=conflicts id=C\n");
	flow_end();
}

/* Conflicts follow one another for two seconds, many more than TRIES_MAX: what another one moves to and fro. */
Test(busy, conflicts_that_end)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10 -> 201",
	           "sql CREATE TRIGGER conflict BEFORE INSERT ON reservation_line FOR EACH ROW SIGNAL SQLSTATE '40001'"
	           " SET MYSQL_ERRNO = 1213 -> ");
	race = flow_race("1", "reserve C A=1");
	usleep(CONFLICTS_US);
	flow_step("sql DROP TRIGGER conflict -> ");
	trap_raced(race, "1x 201 held");
	flow_end();
}

/* Conflicts that do not end, of an order with a line that differs from its slot: its lane serves the others meanwhile,
 * long before the order is told BUSY. */
Test(busy, conflicts_hold_up_no_other_order)
{
	struct race *race;

	flow_begin();
	flow_step("serve --lanes 1");
	flow_steps("receipt A +10 B +200 -> 201",
	           "reserve C A=2 -> 201",
	           "sql UPDATE reservation_line SET qty = 0 -> ");
	race = flow_race("1", "release C");
	for (int i = 0; i < 1000 && trap_metric(0, "holdfast_retries_total") < 10; i++)
		usleep(5000);
	flow_steps("race 8*20 reserve R# B=1 confirm=true -> *x 201",
	           "raw GET /metrics -> 200 holdfast_busy_total{cause=conflicts}=0");
	trap_raced(race, "1x 503 busy");
	flow_steps("sql UPDATE reservation_line SET qty = 2 WHERE qty = 0 -> ",
	           "release C -> 200 released");
	flow_end();
}

Test(busy, task_that_the_database_refuses)
{
	flow_begin();
	flow_step("serve --lanes 1 --log-level debug");
	flow_steps("receipt A +10       -> 201",
	           "reserve R A=1       -> 201",
	           "confirm R           -> 200",
	           "sql CREATE TRIGGER no BEFORE INSERT ON job_task FOR EACH ROW SIGNAL SQLSTATE '45000' -> ",
	           "claim settle        -> 503 busy",
	           "sql DROP TRIGGER no -> ",
	           "claim settle        -> 201");
	causes("reader_failed");
	said("level=debug event=busy cause=reader_failed id=");
	flow_end();
}

Test(busy, more_bytes_than_may_be_buffered)
{
	static char body[60000];
	struct text heard = {0};
	int         fd, status = 0;

	flow_begin();
	flow_step("serve --lanes 1 --log-level debug --max-buffered 50000");
	fd = attack_open(flow_port(0));
	attack_say(fd, "POST /v1/reservations HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: large\r\nContent-Length: "
	               "70000\r\n\r\n");
	memset(body, ' ', sizeof(body));
	attack_send(fd, body, sizeof(body));
	attack_hear_answers(fd, 1, &heard);
	cr_expect(attack_answers(&heard, &status) == 1 && status == 503 && strstr(heard.data, "\"code\":\"busy\""),
	          "%s", heard.data);
	close(fd);
	causes("buffers_full");
	said("level=debug event=busy cause=buffers_full id=");
	text_fini(&heard);
	flow_end();
}

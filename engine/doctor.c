/* doctor.c - the server's rules that Holdfast depends on; see db.h. */
#include "db.h"

#include <stdio.h>
#include <string.h>

struct exam {
	struct text *findings;
	int          found;
};

static void exam_row(void *arg, const struct db_row *row)
{
	enum { VERSION, FLUSH, PACKET, BINLOG, FORMAT };
	struct exam *exam = arg;
	int          major = 0, minor = 0;

	sscanf(row->col[VERSION], "%d.%d", &major, &minor);
	if (!strstr(row->col[VERSION], "MariaDB") || major * 1000 + minor < 10011) {
		text_format(exam->findings, "the server is %s; it should be MariaDB 10.11 or later\n",
		            row->col[VERSION]);
		exam->found++;
	}
	if (db_int(row, FLUSH) != 1) {
		text_format(exam->findings,
		            "innodb_flush_log_at_trx_commit is %s; it should be 1, or a crash undoes promises\n",
		            row->col[FLUSH]);
		exam->found++;
	}
	if (db_int(row, PACKET) < 16 << 20) {
		text_format(exam->findings, "max_allowed_packet is %s; it should be 16777216 or more\n",
		            row->col[PACKET]);
		exam->found++;
	}
	if (db_int(row, BINLOG) && strcmp(row->col[FORMAT], "STATEMENT") == 0) {
		text_add(exam->findings, "binlog_format is STATEMENT; it should be ROW or MIXED, for SKIP LOCKED\n");
		exam->found++;
	}
}

/* Is the way to the server open to others? */
static bool way_is_open(const struct db_target *t)
{
	return *t->host && t->tls == DB_TLS_OFF && strcmp(t->host, "localhost") != 0 && strcmp(t->host, "::1") != 0 &&
	       strncmp(t->host, "127.", 4) != 0;
}

int db_doctor(struct db *db, struct text *findings)
{
	static const char sql[] = "SELECT @@version, @@innodb_flush_log_at_trx_commit, @@max_allowed_packet,"
				  " @@log_bin, @@binlog_format";
	struct exam       exam = {findings, 0};

	if (db_text(db, sql, exam_row, &exam) != DB_OK) {
		text_format(findings, "the server's settings could not be read: %s\n", db_error(db));
		exam.found++;
	}
	if (way_is_open(db_where(db))) {
		text_format(findings,
		            "the connection to %s is not encrypted; it should be, by ?tls=verify&tls_ca=FILE\n",
		            db_where(db)->host);
		exam.found++;
	}
	return exam.found;
}

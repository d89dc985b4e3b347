/* bar.c - see bar.h. A line of the log or a message wipes the bar away first, and the bar is drawn again below it. */
#include "commands/terminal/bar.h"
#include "commands/terminal/terminal.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/db/db.h"

#include <stdio.h>
#include <unistd.h>

enum { CELLS = 24, PAUSE_MS = 100 };
#define WIPE "\r\033[K"

static struct {
	const char *word; /* NULL: there is no bar */
	int64_t     about, began_ms, due_ms;
} bar;

void bar_begin(const char *word, int64_t about)
{
	bar_end();
	if (!terminal_is(STDERR_FILENO))
		return;
	bar.word = word;
	bar.about = about;
	bar.began_ms = clock_ms();
	bar.due_ms = 0;
	log_wipes = WIPE;
	bar_set(0);
}

static void number_read(void *arg, const struct db_row *row)
{
	*(int64_t *)arg = row->col[0] ? db_int(row, 0) : 0;
}

void bar_of_table(struct db *db, const char *word, const char *table)
{
	struct values rows = {0};
	int64_t       about = 0;

	if (!terminal_is(STDERR_FILENO))
		return;
	values_row(&rows, V_TEXT(table));
	if (db_ask(db, TABLE_ROWS_ABOUT, &(struct fill){.rows = &rows}, number_read, &about) != DB_OK)
		about = 0; /* a bar is worth no failure */
	values_fini(&rows);
	bar_begin(word, about);
}

/* The filled part is in colour, if the terminal has colours. */
static void cells_put(struct text *to, int64_t filled)
{
	bool paints = terminal_paints(STDERR_FILENO);

	text_add(to, paints ? " [\033[32m" : " [");
	for (int64_t i = 0; i < CELLS; i++) {
		if (i == filled && paints)
			text_add(to, "\033[0m");
		text_char(to, i < filled ? '#' : '.');
	}
	text_add(to, paints ? "\033[0m]" : "]");
}

void bar_set(int64_t done)
{
	int64_t     took_ms = clock_ms() - bar.began_ms, share;
	struct text line = {0};

	if (!bar.word || !clock_due(&bar.due_ms, PAUSE_MS))
		return;
	assert(done >= 0 && bar.about >= 0);
	if (done > bar.about)
		bar.about = 0; /* the number was a guess, and too low */
	share = bar.about > 0 ? done * 100 / bar.about : 0;
	text_format(&line, WIPE "%s", bar.word);
	if (bar.about > 0) {
		cells_put(&line, share * CELLS / 100);
		text_format(&line, " %lld %%", (long long)share);
	}
	text_format(&line, bar.about > 0 || done > 0 ? "  %lld" : " ..", (long long)done);
	if (took_ms >= 1000)
		text_format(&line, "  %lld/s", (long long)(done * 1000 / took_ms));
	fwrite(line.data, 1, line.len, stderr);
	text_fini(&line);
}

void bar_end(void)
{
	if (!bar.word)
		return;
	bar.word = NULL;
	log_wipes = "";
	fputs(WIPE, stderr);
}

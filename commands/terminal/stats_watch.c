/* stats_watch.c - see stats_watch.h. It waits for a database that is away. */
#include "commands/terminal/stats_watch.h"
#include "commands/terminal/terminal.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/read/census.h"

#include <math.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* NARROW: a column of a screen of 80, where the whole picture has room in 24 rows. */
enum { FIGURES_MAX = 64, LINES_MAX = 40, LINE_SIZE = 52, NARROW = 40, RATE_SIZE = 32 };

static const int64_t NARROW_MOST = 9999999999;

/* Groups, each from a figure on. If there are two columns, the right one begins with the third group. */
static const struct {
	const char *first, *title;
} groups[] = {{"skus", "stock"},
              {"held", "reservations"},
              {"oldest_expired_ms", "jobs"},
              {"event_rows", "events"},
              {"orders_ahead", "clocks"}};
enum { RIGHT_FROM = 2 };

struct figure {
	char    name[32];
	int64_t n;
};

/* The figures of one look. */
struct look {
	struct figure figures[FIGURES_MAX];
	size_t        count;
	int64_t       at_ms; /* clock_ms; 0: there was none */
};

/* Lines of a picture, by column. */
struct lines {
	char     text[2][LINES_MAX][LINE_SIZE];
	size_t   count[2];
	bool     two; /* columns side by side, each of `width` */
	int      width;
	unsigned rows; /* of the screen; 0: all that there are */
};

/* Begins lines; a screen has a width and a number of rows. */
static void lines_begin(struct lines *to, bool screen)
{
	int width;

	*to = (struct lines){.width = LINE_SIZE};
	if (!screen)
		return;
	width = (int)terminal_width(STDOUT_FILENO, &to->rows);
	to->two = width >= 2 * NARROW;
	if (to->two && width < 2 * LINE_SIZE)
		to->width = NARROW;
}

static void figure_take(void *arg, const char *name, int64_t n)
{
	struct look *l = arg;

	assert(l->count < FIGURES_MAX);
	snprintf(l->figures[l->count].name, sizeof(l->figures[0].name), "%s", name);
	l->figures[l->count++].n = n;
}

static PRINTF(3, 4) void line_add(struct lines *to, int column, const char *format, ...)
{
	va_list ap;

	if (to->count[column] == LINES_MAX)
		return;
	va_start(ap, format);
	vsnprintf(to->text[column][to->count[column]++], LINE_SIZE, format, ap);
	va_end(ap);
}

/* Writes the change of a figure in a second; in a narrow column in at most 7 characters. */
static void rate_write(char rate[RATE_SIZE], double a_second, bool narrow)
{
	static const char units[] = "kMGTPE";
	size_t            unit = 0;

	if (!narrow || fabs(a_second) < 9999.5) {
		snprintf(rate, RATE_SIZE, narrow && fabs(a_second) >= 99.95 ? "%+.0f/s" : "%+.1f/s", a_second);
		return;
	}
	for (a_second /= 1000; fabs(a_second) >= 999.5; unit++)
		a_second /= 1000;
	snprintf(rate, RATE_SIZE, "%+.0f%c/s", a_second, units[unit]);
}

/* Adds a line with a figure and its change in a second. An age has no change. */
static void figure_line(struct lines *to, int column, const char *name, int64_t n, int64_t before, int64_t passed_ms)
{
	size_t len = strlen(name);
	bool   age = len > 3 && strcmp(name + len - 3, "_ms") == 0, narrow = to->width == NARROW;
	char   rate[RATE_SIZE] = "";

	if (!age && n != before && passed_ms > 0)
		rate_write(rate, (double)(n - before) * 1e3 / (double)passed_ms, narrow);
	if (!narrow)
		line_add(to, column, *rate ? "  %-19s %16lld %11s" : "  %-19s %16lld", name, (long long)n, rate);
	else if (n <= NARROW_MOST)
		line_add(to, column, "  %-19s%10lld %s", name, (long long)n, rate);
	else
		line_add(to, column, "  %-19s%9lldM %s", name, (long long)(n / 1000000), rate);
}

/* All reservations, whatever their state: the figures of the group that count no claims. */
static int64_t reservations(const struct look *l, size_t from)
{
	int64_t sum = 0;

	for (size_t i = from; i < l->count && strcmp(l->figures[i].name, groups[RIGHT_FROM].first) != 0; i++)
		if (!strstr(l->figures[i].name, "_claimed"))
			sum += l->figures[i].n;
	return sum;
}

static void lines_make(struct lines *to, const struct look *l, const struct look *before)
{
	int64_t passed_ms = before->at_ms && before->count == l->count ? l->at_ms - before->at_ms : 0;
	int     column = 0;

	for (size_t i = 0; i < l->count; i++) {
		for (size_t g = 0; g < LENGTH(groups); g++)
			if (strcmp(groups[g].first, l->figures[i].name) == 0) {
				column = g >= RIGHT_FROM;
				line_add(to, column, "%s", groups[g].title);
				if (g == 1)
					figure_line(to, 0, "all", reservations(l, i), reservations(before, i),
					            passed_ms);
			}
		figure_line(to, column, l->figures[i].name, l->figures[i].n, before->figures[i].n, passed_ms);
	}
}

/* A line of the picture or of the block, the right column `width` after the left one. Titles, which begin at the edge,
 * are bold if the terminal has colours. */
static void line_put(const char *left, const char *right, int width, bool screen)
{
	bool title = *left && *left != ' ' && screen && terminal_paints(STDOUT_FILENO);

	printf("%s%s%s", title ? "\033[1m" : "", left, title ? "\033[0m" : "");
	title = right && *right && *right != ' ' && screen && terminal_paints(STDOUT_FILENO);
	if (right && *right)
		printf("%*s%s%s%s", width - (int)strlen(left), "", title ? "\033[1m" : "", right,
		       title ? "\033[0m" : "");
	printf("%s\n", screen ? "\033[K" : "");
}

/* On a screen as much as fits, from its first line on; the line at the bottom stays empty. */
static void picture_put(const struct lines *lines, const char *title)
{
	bool   screen = lines->rows > 0;
	size_t most = lines->count[0] > lines->count[1] ? lines->count[0] : lines->count[1];

	if (!lines->two)
		most = lines->count[0] + lines->count[1];
	printf("%s", screen ? "\033[H" : "");
	line_put(title, NULL, 0, screen);
	for (size_t i = 0; i < most && (!screen || i + 3 < lines->rows); i++) {
		const char *left = i < lines->count[0] ? lines->text[0][i]
		                   : !lines->two       ? lines->text[1][i - lines->count[0]]
		                                       : "";

		line_put(left, lines->two && i < lines->count[1] ? lines->text[1][i] : NULL, lines->width, screen);
	}
	printf("%s", screen ? "\033[J" : "\n");
}

/* Takes a look. False: the database does not answer, and the figures stay as they were. */
static bool look_take(struct db *db, struct look *l, struct census *counts)
{
	if ((!db_connected(db) && !db_connect(db)) || !census_read(db, false, counts))
		return false;
	l->count = 0;
	census_tell(counts, figure_take, l);
	l->at_ms = clock_ms();
	return true;
}

static void title_write(char title[LINE_SIZE], int64_t every_s)
{
	time_t    now = time(NULL);
	struct tm utc;

	gmtime_r(&now, &utc);
	strftime(title, LINE_SIZE, "holdfast stats  %Y-%m-%dT%H:%M:%SZ", &utc);
	snprintf(title + strlen(title), LINE_SIZE - strlen(title), "  every %lld s", (long long)every_s);
}

int stats_watch(struct db *db, int64_t every_s, void (*print)(const struct census *counts))
{
	bool          screen = !print && terminal_is(STDOUT_FILENO) && isatty(STDIN_FILENO), away = false;
	struct look   looks[2] = {{.count = 0}, {.count = 0}};
	struct census counts;
	char          title[LINE_SIZE];

	terminal_enter(screen);
	for (unsigned n = 0;;) {
		struct look *now = &looks[n % 2];
		struct lines lines;

		lines_begin(&lines, screen);
		if (look_take(db, now, &counts)) {
			away = false;
			title_write(title, every_s);
			lines_make(&lines, now, &looks[++n % 2]);
			if (print)
				print(&counts);
			else
				picture_put(&lines, title);
		} else if (db_other_schema(db)) {
			break;
		} else if (screen) {
			picture_put(&lines, "the database does not answer; q ends");
		} else if (!away) {
			say("the database does not answer: %s", db_error(db));
			away = true;
		}
		if (fflush(stdout) != 0 || ferror(stdout) || terminal_wait(every_s * 1000))
			break;
	}
	terminal_leave();
	return db_other_schema(db) ? EXIT_UNAVAILABLE : EXIT_DONE;
}

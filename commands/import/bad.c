/* bad.c - see bad.h. */
#include "commands/import/bad.h"
#include "commands/import/columns.h"
#include "engine/base/log.h"

#include <errno.h>
#include <unistd.h>

static bool cannot(const struct bad *b)
{
	say("cannot write %s: %s", b->name, strerror(errno));
	return false;
}

static bool bad_begin(struct bad *b, const struct text *head, char separator)
{
	text_format(&b->beside, "%s.%ld.part", b->name, (long)getpid());
	b->out = fopen(b->beside.data, "wxe");
	if (!b->out)
		return cannot(b);
	/* The mark tells spreadsheets that it is UTF-8. */
	fprintf(b->out, "\xEF\xBB\xBF" WRONG_COLUMN "%c%s\n", separator, head->data);
	return true;
}

bool bad_row(struct bad *b, const char *wrong, const char *row, size_t row_len, const struct text *head, char separator)
{
	if (!b->out && !bad_begin(b, head, separator))
		return false;
	assert(b->out);
	b->rows++;
	putc('"', b->out);
	for (; *wrong; wrong++) {
		if (*wrong == '"')
			putc('"', b->out);
		putc(*wrong, b->out);
	}
	fprintf(b->out, "\"%c", separator);
	fwrite(row, 1, row_len, b->out);
	putc('\n', b->out);
	return !ferror(b->out) || cannot(b);
}

/* True: the files have the same bytes. */
static bool is_same(const char *one, const char *other)
{
	FILE *a = fopen(one, "re"), *b = fopen(other, "re");
	bool  same = a && b;
	int   c = 0;

	while (same && c != EOF) {
		c = getc(a);
		same = c == getc(b);
	}
	if (a)
		fclose(a);
	if (b)
		fclose(b);
	return same;
}

bool bad_end(struct bad *b)
{
	bool ok;

	if (!b->out)
		return true;
	ok = fclose(b->out) == 0;
	b->out = NULL;
	if (!ok)
		return cannot(b);
	if (access(b->name, F_OK) == 0 && !is_same(b->beside.data, b->name)) {
		say("%s is there already, and has other rows: give --bad another name", b->name);
		return false;
	}
	return rename(b->beside.data, b->name) == 0 || cannot(b);
}

void bad_fini(struct bad *b)
{
	if (b->out)
		fclose(b->out);
	if (b->beside.len > 0)
		(void)unlink(b->beside.data);
	text_fini(&b->beside);
}

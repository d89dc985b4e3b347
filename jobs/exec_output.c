/* exec_output.c - see exec_output.h. */
#include "jobs/exec_output.h"
#include "engine/base/utf8.h"
#include "engine/base/memory.h"
#include "engine/base/text.h"

#include <stdio.h>

void answers_init(struct answers *a, struct reservation **orders, size_t count)
{
	*a = (struct answers){.orders = orders, .count = count};
	a->said = mem_alloc(count * sizeof(*a->said));
	a->reasons = mem_alloc(count * sizeof(*a->reasons));
}

void answers_fini(struct answers *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->reasons[i]);
	free(a->reasons);
	free(a->said);
	free(a->stray);
}

/* ---- names */

void answer_name(char *to, const char *order_id)
{
	for (; *order_id; order_id++) {
		if (*order_id == '%' || *order_id == ' ') {
			memcpy(to, *order_id == '%' ? "%25" : "%20", 3);
			to += 3;
		} else {
			*to++ = *order_id;
		}
	}
	*to = '\0';
}

/* Decodes a name in place. false: it has a NUL, which no id has. */
static bool name_decode(char *name)
{
	char *to = name;

	for (const char *at = name; *at; at++) {
		int high = *at == '%' ? hex_digit(at[1]) : -1, low = high < 0 ? -1 : hex_digit(at[2]);

		*to = low < 0 ? *at : (char)(high * 16 + low);
		if (!*to++)
			return false;
		at += low < 0 ? 0 : 2;
	}
	*to = '\0';
	return true;
}

/* The number of the order with this name; a->count: there is none. */
static size_t order_find(const struct answers *a, char *name)
{
	size_t i = name_decode(name) ? 0 : a->count;

	while (i < a->count && strcmp(a->orders[i]->order_id, name) != 0)
		i++;
	return i;
}

/* ---- lines */

/* A copy in UTF-8: other bytes become question marks. Whole characters, 500 bytes at most. */
static char *reason_copy(const char *reason)
{
	char  *copy = mem_alloc(ANSWER_REASON_MAX + 1);
	size_t n = 0;

	while (*reason) {
		size_t len = (unsigned char)*reason < 0x80 ? 1 : utf8_length(reason);

		if (n + (len ? len : 1) > ANSWER_REASON_MAX)
			break;
		if (len)
			memcpy(copy + n, reason, len);
		else
			copy[n] = '?';
		n += len ? len : 1;
		reason += len ? len : 1;
	}
	return copy;
}

/* The verb at the beginning of `words`; SILENT: none. */
static enum said verb_read(const char *words)
{
	static const char *const verbs[] = {[SAID_DONE] = "done", [SAID_RETRY] = "retry", [SAID_BURY] = "bury"};
	size_t                   len = strcspn(words, " ");

	for (enum said said = SAID_DONE; said <= SAID_BURY; said++)
		if (strlen(verbs[said]) == len && memcmp(words, verbs[said], len) == 0)
			return said;
	return SILENT;
}

/* Counts a line with a verb but without the name of an order before it, such as an id with spaces that are not
 * encoded. */
static void stray_note(struct answers *a, const char *line)
{
	const char *word = line;

	while ((word = strchr(word, ' ')) && verb_read(++word) == SILENT)
		continue;
	if (word && a->strays++ == 0)
		a->stray = reason_copy(line);
}

static bool line_take(struct answers *a, char *line)
{
	char     *word = strchr(line, ' '), *reason;
	enum said said = word ? verb_read(word + 1) : SILENT;
	char      name[ANSWER_LINE_MAX];
	size_t    i;

	if (!word)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(word - line), line);
	i = order_find(a, name);
	if (i == a->count)
		stray_note(a, line);
	if (i == a->count || said == SILENT || a->said[i] != SILENT)
		return false;
	a->said[i] = said;
	reason = strchr(word + 1, ' ');
	if (reason && said != SAID_DONE)
		a->reasons[i] = reason_copy(reason + 1);
	return true;
}

bool answers_take(struct answers *a, const char *bytes, size_t len)
{
	bool answered = false;

	for (size_t i = 0; i < len; i++) {
		assert(a->line_len < sizeof(a->line));
		if (bytes[i] == '\n') {
			a->line[a->line_len] = '\0';
			a->line[strcspn(a->line, "\r")] = '\0';
			answered |= line_take(a, a->line);
			a->line_len = 0;
		} else if (a->line_len < sizeof(a->line) - 1) {
			a->line[a->line_len++] = bytes[i];
		}
	}
	return answered;
}

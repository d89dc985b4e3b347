/* exec_output.c - see exec_output.h. */
#include "jobs/exec_output.h"
#include "engine/base/escape.h"
#include "engine/base/memory.h"

#include <stdlib.h>
#include <string.h>

void answers_init(struct answers *a, struct reservation **orders, size_t count)
{
	a->orders = orders;
	a->count = count;
	a->said = mem_alloc(count * sizeof(*a->said));
	a->reasons = mem_alloc(count * sizeof(*a->reasons));
	a->line_len = 0;
}

void answers_fini(struct answers *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->reasons[i]);
	free(a->reasons);
	free(a->said);
}

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

static bool line_take(struct answers *a, char *line)
{
	char  *word = strchr(line, ' '), *reason;
	size_t i = 0;

	if (!word)
		return false;
	*word++ = '\0';
	reason = strchr(word, ' ');
	if (reason)
		*reason++ = '\0';
	while (i < a->count && strcmp(a->orders[i]->order_id, line) != 0)
		i++;
	if (i == a->count || a->said[i] != SILENT)
		return false;
	a->said[i] = strcmp(word, "done") == 0    ? SAID_DONE
	             : strcmp(word, "retry") == 0 ? SAID_RETRY
	             : strcmp(word, "bury") == 0  ? SAID_BURY
	                                          : SILENT;
	if (reason && (a->said[i] == SAID_RETRY || a->said[i] == SAID_BURY))
		a->reasons[i] = reason_copy(reason);
	return a->said[i] != SILENT;
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

/* event_type.c - see event_type.h. */
#include "engine/log/event_type.h"

#include <string.h>

static const struct {
	const char      *word;
	enum event_about about;
	enum { OTHER, ORDER } cause;
	enum moves moves;
	unsigned   from, to; /* bits of states */
} types[EVENT_TYPES] = {
#define IS(s) (1U << (s))
#define X(name, number, word, about, cause, moves, from, to) [number] = {word, about, cause, moves, from, to},
#include "engine/log/event_types.def"
#undef X
#undef IS
};

const char *event_type_name(enum event_type t)
{
	return t < EVENT_TYPES ? types[t].word : NULL;
}

enum event_about event_type_about(enum event_type t)
{
	return t < EVENT_TYPES ? types[t].about : NOTHING;
}

enum moves event_type_moves(enum event_type t)
{
	return t < EVENT_TYPES ? types[t].moves : NO_MOVE;
}

bool event_type_by_order(enum event_type t)
{
	return t < EVENT_TYPES && types[t].cause == ORDER;
}

bool event_type_leaves(enum event_type t, enum reservation_state s)
{
	return t < EVENT_TYPES && s < STATES && types[t].from >> s & 1;
}

bool event_type_enters(enum event_type t, enum reservation_state s)
{
	return t < EVENT_TYPES && s < STATES && types[t].to >> s & 1;
}

enum event_type event_of_movement(enum movement_kind k)
{
	static const enum event_type of[KINDS] = {[RECEIPT] = EVENT_RECEIPT,
	                                          [ADJUSTMENT] = EVENT_ADJUSTMENT,
	                                          [RETURN] = EVENT_RETURN,
	                                          [STOCKTAKE] = EVENT_COUNT,
	                                          [SETTLEMENT] = EVENT_SETTLEMENT};

	return k < KINDS ? of[k] : 0;
}

enum event_type event_type_find(const char *word)
{
	for (unsigned t = 1; t < EVENT_TYPES; t++)
		if (types[t].word && strcmp(types[t].word, word) == 0)
			return (enum event_type)t;
	return 0;
}

bool event_filter_read(const char *list, struct event_filter *filter)
{
	char            word[64];
	enum event_type type;

	*filter = (struct event_filter){.all = !list || !*list};
	while (!filter->all) {
		size_t len = strcspn(list, ",");

		if (len >= sizeof(word))
			return false;
		memcpy(word, list, len);
		word[len] = '\0';
		type = event_type_find(word);
		if (type == 0)
			return false;
		filter->wanted[type] = true;
		if (list[len] == '\0')
			break;
		list += len + 1;
	}
	return true;
}

bool event_is_wanted(const struct event_filter *filter, enum event_type t)
{
	return filter->all || (t < EVENT_TYPES && filter->wanted[t]);
}

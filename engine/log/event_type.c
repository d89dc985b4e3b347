/* event_type.c - see event_type.h. */
#include "engine/log/event_type.h"

enum { OTHER, ORDER }; /* kinds of causes */

static const struct event_trait types[EVENT_TYPES] = {
#define IS(s)                                                (1U << (s))
#define X(name, number, word, about, cause, moves, from, to) [number] = {word, about, cause, moves, from, to},
#include "engine/log/event_types.def"
#undef X
#undef IS
};

const struct event_trait *event_trait(enum event_type t)
{
	return &types[t < EVENT_TYPES ? t : 0];
}

enum event_type event_of_movement(enum movement_kind k)
{
	static const enum event_type of[KINDS] = {
#define X(name, ...) [name] = EVENT_##name,
#include "engine/movement_kinds.def"
#undef X
	};

	return k < KINDS ? of[k] : 0;
}

enum moves event_moves(const struct event_trait *is, bool caused)
{
	if (is->moves == RETAKES)
		return caused ? TAKES : NO_MOVE;
	if (is->moves == DRAWS)
		return caused ? KEEPS : TAKES;
	return is->moves;
}

enum event_type event_type_find(const char *word, size_t len)
{
	for (unsigned t = 1; t < EVENT_TYPES; t++)
		if (types[t].word && *types[t].word && strlen(types[t].word) == len &&
		    memcmp(types[t].word, word, len) == 0)
			return (enum event_type)t;
	return 0;
}

bool event_filter_read(const char *list, struct event_filter *filter)
{
	*filter = (struct event_filter){.all = !list || !*list};
	for (bool more = !filter->all; more; list++) {
		size_t          len = strcspn(list, ",");
		enum event_type type = event_type_find(list, len);

		if (type == 0)
			return false;
		filter->wanted[type] = true;
		list += len;
		more = *list == ',';
	}
	return true;
}

bool event_is_wanted(const struct event_filter *filter, enum event_type t)
{
	return t < EVENT_TYPES && (filter->wanted[t] || (filter->all && types[t].word && *types[t].word));
}

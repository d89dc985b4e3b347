/* outcome.c - see outcome.h. */
#include "engine/outcome.h"

static const struct {
	const char *code, *detail;
	enum outcome_class class;
} outcomes[OUTCOMES] = {
#define X(name, code, class, detail) [name] = {code, detail, class},
#include "engine/outcome.def"
#undef X
};

const char *outcome_code(enum outcome o)
{
	return outcomes[o].code;
}

const char *outcome_detail(enum outcome o)
{
	return outcomes[o].detail;
}

enum outcome_class outcome_class(enum outcome o)
{
	return outcomes[o].class;
}

bool outcome_is_repeat(enum outcome o)
{
	return outcomes[o].class == REPEATED || outcomes[o].class == ENDED;
}

bool outcome_is_of_other(enum outcome o)
{
	return o == NO_OTHER || (o >= IS_HELD && o <= IS_CLAIMED);
}

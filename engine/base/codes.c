/* codes.c - see codes.h. */
#include "engine/base/codes.h"

#include <string.h>

bool code_valid(const char *code, size_t len, size_t max)
{
	if (len < 1 || len > max)
		return false;
	for (size_t i = 0; i < len; i++)
		if (code[i] <= ' ' || code[i] > '~' || strchr("/?#%", code[i]))
			return false;
	return !(code[0] == '.' && (len == 1 || (len == 2 && code[1] == '.')));
}

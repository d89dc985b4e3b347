/* frame.c - see frame.h. evhttp takes the first of two lengths, passes over names with a space before the colon, and
 * reads the body of a HEAD as the next request. */
#include "frame.h"

#include <event2/keyvalq_struct.h>
#include <string.h>

bool frame_is_clear(const struct evkeyvalq *headers, bool may_have_body)
{
	size_t lengths = 0, encodings = 0;
	bool   empty = true;

	for (const struct evkeyval *header = headers->tqh_first; header; header = header->next.tqe_next) {
		if (!*header->key || strpbrk(header->key, " \t"))
			return false;
		if (strcasecmp(header->key, "Content-Length") == 0) {
			lengths++;
			empty &= strcmp(header->value, "0") == 0;
			if (strspn(header->value, "0123456789") != strlen(header->value))
				return false;
		} else if (strcasecmp(header->key, "Transfer-Encoding") == 0) {
			encodings++;
			empty = false;
			if (strcasecmp(header->value, "chunked") != 0)
				return false;
		}
	}
	return lengths + encodings <= 1 && (empty || may_have_body);
}

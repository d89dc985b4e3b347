/* frame.h - is it clear where a request ends? Another reader, a proxy in front of us, must not see another length. */
#ifndef FRAME_H
#define FRAME_H

#include "engine/base.h"

struct evkeyvalq;

/* One Content-Length of digits or one `Transfer-Encoding: chunked`, no names with spaces; a body only where the method
 * has one (RFC 9112 6.3). */
bool frame_is_clear(const struct evkeyvalq *headers, bool may_have_body);

#endif

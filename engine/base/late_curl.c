/* late_curl.c - see late_curl.h. */
#define CURL_DISABLE_TYPECHECK
#define curl_url_get curl_url_get_declared /* its first argument is const since libcurl 8 */
#include "engine/base/late_curl.h"
#undef curl_url_get
#include "engine/base/log.h"
#include "engine/base/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static void *libcurl;

/* As if the program were linked with the library: without it the program cannot go on. The words of dlerror alone say
 * that a file was not opened for want of a descriptor. */
static void *found(void *it)
{
	const char *said;

	if (it)
		return it;
	said = dlerror();
	if (strstr(said, strerror(EMFILE)))
		descriptor_end(EMFILE, said);
	if (strstr(said, strerror(ENFILE)))
		descriptor_end(ENFILE, said);
	log_event(LOG_ERROR, "no_library", "why=%s", said);
	_exit(EXIT_TROUBLE);
}

static void libcurl_load(void)
{
	libcurl = found(dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL));
}

static void *function(const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, libcurl_load);
	assert(libcurl);
	return found(dlsym(libcurl, name));
}

/* Parentheses around a name keep the macros of curl.h from it. */
#define CALLS(type, name, parameters, ...)                                              \
	type(name) parameters                                                           \
	{                                                                               \
		return ((__typeof__((name)) *)(uintptr_t)function(#name))(__VA_ARGS__); \
	}
/* The third argument is a pointer, a long or a curl_off_t: each has the size of a pointer. */
#define CALLS_WITH_VALUE(type, name, handle, option)                                         \
	type(name)(handle * of, option which, ...)                                           \
	{                                                                                    \
		va_list list;                                                                \
		void   *value;                                                               \
		va_start(list, which);                                                       \
		value = va_arg(list, void *);                                                \
		va_end(list);                                                                \
		return ((__typeof__((name)) *)(uintptr_t)function(#name))(of, which, value); \
	}
_Static_assert(sizeof(void *) == sizeof(long) && sizeof(void *) == sizeof(curl_off_t),
               "values are passed on as pointers");

CALLS(CURLcode, curl_global_init, (long flags), flags)
CALLS(void, curl_free, (void *text), text)

CALLS(CURL *, curl_easy_init, (void), )
CALLS(void, curl_easy_reset, (CURL * easy), easy)
CALLS(void, curl_easy_cleanup, (CURL * easy), easy)
CALLS(CURLcode, curl_easy_perform, (CURL * easy), easy)
CALLS(const char *, curl_easy_strerror, (CURLcode code), code)
CALLS_WITH_VALUE(CURLcode, curl_easy_setopt, CURL, CURLoption)
CALLS_WITH_VALUE(CURLcode, curl_easy_getinfo, CURL, CURLINFO)
CALLS(CURLHcode, curl_easy_header,
      (CURL * easy, const char *name, size_t index, unsigned origin, int request, struct curl_header **to), easy, name,
      index, origin, request, to)

CALLS(CURLM *, curl_multi_init, (void), )
CALLS(CURLMcode, curl_multi_cleanup, (CURLM * multi), multi)
CALLS(CURLMcode, curl_multi_add_handle, (CURLM * multi, CURL *easy), multi, easy)
CALLS(CURLMcode, curl_multi_remove_handle, (CURLM * multi, CURL *easy), multi, easy)
CALLS(CURLMcode, curl_multi_perform, (CURLM * multi, int *running), multi, running)
CALLS(CURLMcode, curl_multi_poll,
      (CURLM * multi, struct curl_waitfd more[], unsigned count, int timeout_ms, int *ready), multi, more, count,
      timeout_ms, ready)
CALLS(CURLMsg *, curl_multi_info_read, (CURLM * multi, int *left), multi, left)
CALLS_WITH_VALUE(CURLMcode, curl_multi_setopt, CURLM, CURLMoption)

CALLS(struct curl_slist *, curl_slist_append, (struct curl_slist * list, const char *line), list, line)
CALLS(void, curl_slist_free_all, (struct curl_slist * list), list)

CALLS(CURLU *, curl_url, (void), )
CALLS(void, curl_url_cleanup, (CURLU * url), url)
CALLS(CURLUcode, curl_url_get, (const CURLU *url, CURLUPart part, char **to, unsigned flags), url, part, to, flags)
CALLS(CURLUcode, curl_url_set, (CURLU * url, CURLUPart part, const char *from, unsigned flags), url, part, from, flags)

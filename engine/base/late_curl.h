/* late_curl.h - the functions of libcurl, which load the library at the first call: late_curl.c has all that the
 * program calls. libcurl brings 25 libraries with it, and to link them takes up to two thirds of the time in which a
 * command starts; few commands send anything. So the program is not linked with it. Without the library the first call
 * ends the process.
 *
 * Any thread. A look by name at each call is cheap beside what the functions do. */
#ifndef LATE_CURL_H
#define LATE_CURL_H

#include <curl/curl.h>

#endif

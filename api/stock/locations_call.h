/* locations_call.h - the calls about locations: PUT, GET of one, the list. */
#ifndef API_LOCATIONS_H
#define API_LOCATIONS_H

#include "api/calls/job.h"

extern const struct job_kind put_location, get_location, get_locations;

#endif

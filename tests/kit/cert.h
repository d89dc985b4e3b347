/* cert.h - certificates for tests: self-signed, so that each is its own authority too. */
#ifndef TESTS_CERT_H
#define TESTS_CERT_H

#include "engine/base/base.h"

/* Writes DIR/NAME.cert and DIR/NAME.key (PEM), replacing what is there: a new key, valid from yesterday for `days` (0:
 * it ended an hour ago), for `names` ("DNS:localhost,IP:127.0.0.1"). Every user can read the key, because servers of
 * the tests run as other users. Ends the test if it cannot. */
void cert_write(const char *dir, const char *name, const char *names, int days);

#endif

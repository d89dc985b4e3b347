/* export.h - the command `export`: stock, movements or reservations as CSV (RFC 4180) on stdout. */
#ifndef EXPORT_H
#define EXPORT_H

int export_run(void);

#endif

/* search.h - skus by a part of their code, name or barcode. The first search of a process reads these texts into memory
 * (sku_texts.h), each further one what has changed since, so that it knows whatever was committed before it. The thread
 * that answers searches has the memory for itself. */
#ifndef SEARCH_H
#define SEARCH_H

#include "engine/catalogue/catalogue.h"
#include "engine/db/db.h"
#include "engine/read/sku_texts.h"

/* Bytes of texts that a process keeps, and the time for which it refuses where that is not enough. */
#define SEARCH_BYTES_MAX ((size_t)256 << 20)
enum { SEARCH_REFUSED_MS = 60000 };
/* Characters of a text that is looked for, and its bytes. */
enum { SEARCH_MIN = 2, SEARCH_MAX = 200, SEARCH_BYTES = TEXT_FOUND_MAX };
_Static_assert(SEARCH_BYTES == 4 * SEARCH_MAX, "a character has four bytes at most");

struct search;
struct search *search_new(size_t bytes_max);
void           search_free(struct search *s); /* NULL is fine */
/* Forgets all texts: the connection is a new one, behind which another past of the database may be. */
void search_forget(struct search *s);

/* True: the text has as many characters as one that is looked for, and none that no name has. */
bool search_fits(const char *text);
/* Reads what has changed, or all texts the first time. *large: they take more memory than they may. */
enum db_result search_read(struct db *db, struct search *s, bool *large) MUST_CHECK;
/* The same where some texts are known already, so that the next search has little to read. */
enum db_result search_keep(struct db *db, struct search *s) MUST_CHECK;
/* The first `max` skus in the order of searches that contain `text` (folded) and stand behind `code` (empty: from the
 * beginning), which is exact or not. Their numbers are those of the database, or else DB_RETRY and nothing is known. */
enum db_result search_find(struct db *db, struct search *s, const char *text, const char *code, bool exact,
                           struct sku **list, size_t max, size_t *count) MUST_CHECK;
/* True: this sku stands among the exact ones. */
bool search_exact(const struct search *s, const char *text, const struct sku *sku);

#endif

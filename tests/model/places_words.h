/* places_words.h - calls about places, and what has to come back, as words of the flow's language (flow.h). Pure. */
#ifndef TESTS_PLACES_WORDS_H
#define TESTS_PLACES_WORDS_H

#include "tests/model/places_model.h"

extern const char *const pm_places[PM_PLACES];

const char *pm_state_name(enum pm_state state);
void        pm_words(const struct pm_ask *ask, struct text *to);
/* These lines of an order, and no others. */
void pm_spots_add(struct text *to, const int64_t qty[PM_SKUS][PM_PLACES]);
/* What GET of an order, of a sku, of a line has to say. */
void pm_order_words(const struct pm *m, int id, struct text *to);
void pm_sku_words(const struct pm *m, int s, struct text *to);
void pm_line_words(const struct pm *m, int s, int p, struct text *to);

#endif

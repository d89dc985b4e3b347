/* verdict.h - counting units for the model (model.h), and putting a verdict together. */
#ifndef TESTS_VERDICT_H
#define TESTS_VERDICT_H

#include "tests/model/model.h"

bool    cells_equal(const struct cells *a, const struct cells *b);
bool    wish_equal(const struct wish *a, const struct wish *b);
int64_t units_of(const struct cells *cells, int s); /* at all places */
int64_t least(int64_t a, int64_t b);

void refuse(struct verdict *out, int status, const char *code);
/* This place is at fault, with these numbers, .. */
void fault_set(struct verdict *out, int s, int p, int64_t first, int64_t second);
/* .. which have these names. */
void faults_named(struct verdict *out, const char *first, const char *second);
bool has_fault(const struct verdict *out);
/* The lines of `wrong` skus are at fault, if there are any. */
bool refuse_skus(const bool *wrong, const char *code, const struct ask *ask, struct verdict *out);
/* Lines with unknown skus. */
bool refuse_unknown(const struct model *m, const struct ask *ask, struct verdict *out);

#endif

/* order.h - the model's orders (model.h): what is asked of them, and their units. */
#ifndef TESTS_MODEL_ORDER_H
#define TESTS_MODEL_ORDER_H

#include "tests/model/verdict.h"

const char *order_state_name(enum order_state state);
bool        order_lives(const struct order *o);

void order_expire(struct model *m, struct order *o);
/* From here on it is known where the units of an expired order are. */
void order_is_swept(struct model *m, struct order *o);
/* The customer has them. */
void units_leave(struct model *m, const struct order *o);

/* The parts of model_do for orders. */
void reserve_do(struct model *m, const struct ask *ask, struct verdict *out);
void split_do(struct model *m, const struct ask *ask, struct verdict *out);
void confirm_do(struct model *m, const struct ask *ask, struct verdict *out);
void release_do(struct model *m, const struct ask *ask, struct verdict *out);
void extend_do(struct model *m, const struct ask *ask, struct verdict *out);
void amend_do(struct model *m, const struct ask *ask, struct verdict *out);
void settle_do(struct model *m, const struct ask *ask, struct verdict *out);
void kick_do(struct model *m, const struct ask *ask, struct verdict *out);
void hold_do(struct model *m, const struct ask *ask, struct verdict *out);
void let_go_do(struct model *m, const struct ask *ask, struct verdict *out);
void get_do(struct model *m, const struct ask *ask, struct verdict *out);

#endif

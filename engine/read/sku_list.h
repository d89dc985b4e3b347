/* sku_list.h - skus page by page with their totals and details: by code, or those that a search finds. */
#ifndef SKU_LIST_H
#define SKU_LIST_H

#include "engine/op.h"

/* Answers OP_LIST_SKUS, and OP_SEARCH_SKUS with the query's `search`. */
enum db_result sku_list_page(struct db *db, struct op *op) MUST_CHECK;

#endif

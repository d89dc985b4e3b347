/* test_customer.c - the most units of a sku that one customer may have, and what each has. */
#include "tests/trap.h"

/* A sku that was never received is there all the same, with nothing in stock. */
Test(customer, a_sku_is_made_by_its_limit)
{
	flow("limit   A 2              -> 201 sku=A per_customer=2 Location:A",
	     "limit   A 2              -> 200 sku=A per_customer=2",
	     "limit   A                -> 200 sku=A per_customer=2",
	     "limit   A 5              -> 200 per_customer=5",
	     "limit   A none           -> 200 sku=A !per_customer",
	     "limit   A                -> 200 !per_customer",
	     "limit   B                -> 201 sku=B !per_customer",
	     "limit   '#/ 1'           -> 201 '~sku:#/ 1' Location:%23%2F%201",
	     "sku     A                -> available=0 reserved=0 on_hand=0 !per_customer",
	     "skus                     -> '~sku:#/ 1' ~sku:A A available=0 reserved=0 on_hand=0 B available=0",
	     "availability A B C       -> A available=0 B available=0 C code=unknown_sku",
	     "reserve R1 B=1           -> 409 short B requested=1 available=0",
	     "reserve R1 C=1           -> 422 unknown_sku C",
	     "return  B +1             -> 201",
	     "adjust  B +1             -> 201",
	     "reserve R1 B=2           -> 201",
	     "movements A              -> items=0 end",
	     "receipt A +1             -> 201",
	     "limit   A 7              -> 200 per_customer=7",
	     "sku     A                -> available=1 per_customer=7");
}

Test(customer, a_limit_is_read_strictly)
{
	flow("limit   A 0              -> 400 field=per_customer",
	     "limit   A -1             -> 400 field=per_customer",
	     "limit   A 1000000001     -> 400 field=per_customer",
	     "limit   A 1.0            -> 400 field=per_customer",
	     "limit   A '\"2\"'          -> 400 field=per_customer",
	     "limit   A true           -> 400 field=per_customer",
	     "raw PUT /v1/skus/A {'per_customer':1,'per_customer':1} -> 400",
	     "raw PUT /v1/skus/A {'low':1} -> 400 field=low",
	     "raw PUT /v1/skus/A []    -> 400",
	     "raw PUT /v1/skus/A?x=1 {} -> 400 field=x",
	     "raw PUT /v1/skus/%20 {}  -> 400 field=sku",
	     "raw POST /v1/skus/A {}   -> 405 Allow:GET Allow:HEAD Allow:PUT",
	     "raw OPTIONS /v1/skus/A   -> 405 Allow:PUT",
	     "sku     A                -> 404 unknown_sku",
	     "limit   A 1000000000     -> 201 per_customer=1000000000");
}

Test(customer, has_is_for_any_code)
{
	flow("has     A c              -> 404 unknown_sku",
	     "limit   A                -> 201",
	     "has     A c              -> 200 sku=A customer=c has=0 !per_customer",
	     "limit   A 3              -> 200",
	     "has     A 'a/b c%'       -> 200 '~customer:a/b c%' has=0 per_customer=3",
	     "raw GET /v1/skus/A/customers/%2E -> 400 field=customer",
	     "raw GET /v1/skus/A/customers/c?limit=1 -> 400 field=limit",
	     "raw HEAD /v1/skus/A/customers/c -> 200",
	     "raw PUT /v1/skus/A/customers/c {} -> 405 Allow:GET Allow:HEAD",
	     "raw GET /v1/skus/A/customers -> 404 not_found",
	     "raw GET /v1/skus/A/customers/c/d -> 404 not_found");
}

Test(customer, limits_are_for_admins)
{
	flow("keys    ann admin | oda order | wes worker | rea read",
	     "key oda",
	     "limit   A 2              -> 403 forbidden",
	     "key wes",
	     "limit   A 2              -> 403 forbidden",
	     "key rea",
	     "limit   A 2              -> 403 forbidden",
	     "key",
	     "limit   A 2              -> 401 unauthorized",
	     "has     A c              -> 401 unauthorized",
	     "key ann",
	     "limit   A 2              -> 201",
	     "key rea",
	     "has     A c              -> 200 has=0",
	     "key oda",
	     "has     A c              -> 200 has=0",
	     "key wes",
	     "has     A c              -> 200 has=0");
}

/* Each of many is numbered behind the one before, whoever sets it. */
Test(customer, limits_of_many_skus_at_once)
{
	flow("second",
	     "race 16*20 limit S# 5 -> 320x 201",
	     "race 16*20 limit S1 1# -> 320x 200",
	     "sql SELECT COUNT(*), COUNT(DISTINCT sku_id) FROM sku_limit -> 320,320",
	     "wait @2 sku S77          -> per_customer=5",
	     "wait sku S77             -> per_customer=5",
	     "sql SELECT COUNT(*) FROM sku JOIN sku_limit USING (sku_id) WHERE per_customer = 5 -> 319");
}

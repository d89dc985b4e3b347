/* test_uri.c - the codes that a path names. */
#include "api/http/uri.h"

#include <criterion/criterion.h>
#include <string.h>

Test(uri, codes_of_a_path)
{
	static const struct {
		const char *pattern, *path;
		bool        fits;
		const char *codes[PATH_CODES];
	} cases[] = {
		{"/livez", "/livez", true, {NULL}},
		{"/livez", "/livez/", false, {NULL}},
		{"/skus/{sku}", "/skus/A", true, {"A"}},
		{"/skus/{sku}", "/skus/", false, {NULL}},
		{"/skus/{sku}", "/skus/A/", false, {NULL}},
		{"/skus/{sku}/movements", "/skus/A%2Fb/movements", true, {"A%2Fb"}},
		{"/skus/{sku}/movements", "/skus//movements", false, {NULL}},
		{"/skus/{sku}/movements", "/skus/A/B/movements", false, {NULL}},
		{"/skus/{sku}/buyers/{buyer}", "/skus/A/buyers/B", true, {"A", "B"}},
		{"/skus/{sku}/buyers/{buyer}", "/skus/buyers/buyers/buyers", true, {"buyers", "buyers"}},
		{"/skus/{sku}/buyers/{buyer}", "/skus/A/buyers/", false, {NULL}},
		{"/skus/{sku}/buyers/{buyer}", "/skus//buyers/B", false, {NULL}},
		{"/skus/{sku}/buyers/{buyer}", "/skus/A/buyers/B/C", false, {NULL}},
	};
	struct path_code codes[PATH_CODES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_assert_eq(path_fits(cases[i].pattern, cases[i].path, codes), cases[i].fits, "%s", cases[i].path);
		for (size_t k = 0; k < PATH_CODES && cases[i].fits; k++) {
			const char *code = cases[i].codes[k];

			cr_assert(code ? codes[k].at && codes[k].len == strlen(code) &&
			                          memcmp(codes[k].at, code, codes[k].len) == 0
			               : !codes[k].at,
			          "%s", cases[i].path);
		}
	}
}

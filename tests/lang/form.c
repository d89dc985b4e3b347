/* form.c - the rules that hold for every answer, whatever was asked. See expect.h. */
#include "tests/lang/expect.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool ends_with(const char *name, const char *tail)
{
	size_t n = strlen(name), t = strlen(tail);

	return n >= t && strcmp(name + n - t, tail) == 0;
}

static bool time_has_form(const char *s)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";

	if (strlen(s) != strlen(form))
		return false;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)s[i]) : s[i] != form[i])
			return false;
	return true;
}

static double units_of(const cJSON *object, const char *name)
{
	const cJSON *units = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsNumber(units) ? units->valuedouble : 0;
}

/* True: the units add up. An item of stock.changed counts units that are not for sale in on_hand alone. `within`: the
 * object that has this one; the stock of a location is of the location's kind. */
static bool object_adds_up(const cJSON *object, const cJSON *within)
{
	const cJSON *available = cJSON_GetObjectItemCaseSensitive(object, "available");
	const cJSON *reserved = cJSON_GetObjectItemCaseSensitive(object, "reserved");
	const cJSON *on_hand = cJSON_GetObjectItemCaseSensitive(object, "on_hand");
	const cJSON *aside = cJSON_GetObjectItemCaseSensitive(object, "aside");
	bool         of_place = object->string && strcmp(object->string, "stock") == 0;
	const cJSON *kind = cJSON_GetObjectItemCaseSensitive(of_place ? within : object, "kind");
	const cJSON *incoming = cJSON_GetObjectItemCaseSensitive(object, "incoming");
	double       left, promised = 0;

	if (!cJSON_IsNumber(available) || !cJSON_IsNumber(reserved) || !cJSON_IsNumber(on_hand))
		return true;
	if (cJSON_IsString(kind) && strcmp(kind->valuestring, "incoming") == 0)
		return on_hand->valuedouble == 0;
	left = on_hand->valuedouble - available->valuedouble - reserved->valuedouble - units_of(object, "stopped");
	if (incoming && left < 0) /* counts over locations that the caller named */
		promised = units_of(incoming, "available") + units_of(incoming, "reserved") +
		           units_of(incoming, "stopped");
	left += promised;
	return available->valuedouble >= 0 && reserved->valuedouble >= 0 &&
	       (aside ? left == aside->valuedouble : left == 0 || (left > 0 && !object->string));
}

static bool tree_has_form(const cJSON *node, const cJSON *within, struct text *why)
{
	const cJSON *child;

	if (cJSON_IsObject(node) && !object_adds_up(node, within)) {
		text_add(why, "on_hand is not available + reserved + aside + stopped");
		return false;
	}
	cJSON_ArrayForEach(child, node)
	{
		const char *name = child->string ? child->string : "";

		if (((ends_with(name, "_at") && strcmp(name, "waits_at") != 0) || ends_with(name, "_until")) &&
		    !(cJSON_IsString(child) && time_has_form(child->valuestring))) {
			text_format(why, "%s is not a time in RFC 3339 with milliseconds and Z", name);
			return false;
		}
		if (!tree_has_form(child, node, why))
			return false;
	}
	return true;
}

/* Looks at the text, as a parsed tree does not tell 1 from 1.0 or 1e0. */
static bool numbers_are_integers(const char *json)
{
	bool inside = false;

	for (const char *at = json; *at; at++) {
		if (inside && *at == '\\' && at[1])
			at++;
		else if (*at == '"')
			inside = !inside;
		else if (!inside && isdigit((unsigned char)at[0]) && at[1] && strchr(".eE", at[1]))
			return false;
	}
	return true;
}

static bool type_is(const struct answer *a, const char *type)
{
	char   value[128];
	size_t len = strlen(type);

	return answer_header(a, "Content-Type", value, sizeof(value)) && strncasecmp(value, type, len) == 0 &&
	       (value[len] == '\0' || value[len] == ';' || value[len] == ' ');
}

static bool problem_has_form(const struct answer *a, struct text *why)
{
	static const char *const members[] = {"type", "title", "detail", "code"};
	char                     value[64];
	const cJSON             *status = cJSON_GetObjectItemCaseSensitive(a->json, "status");

	for (size_t i = 0; i < LENGTH(members); i++)
		if (!cJSON_IsString(cJSON_GetObjectItemCaseSensitive(a->json, members[i]))) {
			text_format(why, "the problem has no %s", members[i]);
			return false;
		}
	if (!cJSON_IsNumber(status) || status->valueint != a->status) {
		text_add(why, "the problem's status is not the answer's");
		return false;
	}
	if ((a->status == 503 || a->status == 429) && !answer_header(a, "Retry-After", value, sizeof(value))) {
		text_add(why, "Retry-After is missing");
		return false;
	}
	if (a->status == 405 && !answer_header(a, "Allow", value, sizeof(value))) {
		text_add(why, "Allow is missing");
		return false;
	}
	return true;
}

/* The console's files, which a browser keeps. */
static bool is_kept(const struct call *call, const struct answer *a)
{
	return strncmp(call->path.data, "/console/", 9) == 0 && a->status < 400;
}

/* The paths that answer with something else than JSON. */
static bool is_text(const char *path)
{
	return strncmp(path, "/metrics", 8) == 0 || strncmp(path, "/openapi", 8) == 0 ||
	       strncmp(path, "/console", 8) == 0 || strcmp(path, "/") == 0;
}

bool expect_form(const struct call *call, const struct answer *a, struct text *why)
{
	const char *type = a->status >= 400 ? "application/problem+json" : "application/json";
	char        value[256];

	if (a->status == 0)
		return true; /* without an answer there is no form; the words decide whether that may be */
	if (!answer_header(a, "X-Request-Id", value, sizeof(value)) || !value[0]) {
		text_add(why, "X-Request-Id is missing");
		return false;
	}
	if (!answer_header(a, "Cache-Control", value, sizeof(value)) ||
	    strcmp(value, is_kept(call, a) ? "no-cache" : "no-store") != 0) {
		text_add(why, "Cache-Control is another one");
		return false;
	}
	if ((a->status == 201 || a->status == 303) != answer_header(a, "Location", value, sizeof(value))) {
		text_add(why, "Location is there without a 201 or 303, or the other way round");
		return false;
	}
	if (a->status == 204 || (a->status < 400 && is_text(call->path.data)))
		return true;
	if (!type_is(a, type)) {
		text_format(why, "the Content-Type is not %s", type);
		return false;
	}
	if (strcmp(call->method, "HEAD") == 0)
		return true;
	if (!cJSON_IsObject(a->json)) {
		text_add(why, "the body is not a JSON object");
		return false;
	}
	if (!numbers_are_integers(a->body.data)) {
		text_add(why, "a number is not written as an integer");
		return false;
	}
	return tree_has_form(a->json, NULL, why) && (a->status < 400 || problem_has_form(a, why));
}

/* sku_details_call.c - see sku_details_call.h. */
#include "api/stock/sku_details_call.h"
#include "api/request.h"
#include "engine/base/utf8.h"
#include "engine/catalogue/sku_limits.h"

#include <stdio.h>

#define NAME_FORM "must be 1 to 200 characters of UTF-8 without control characters"

/* JSON has been read, so the text is UTF-8. */
static bool name_fits(const char *name, size_t len)
{
	size_t characters = 0, bytes;

	for (size_t i = 0; i < len; i += bytes, characters++) {
		uint32_t c = utf8_read(name + i, &bytes);

		if (bytes == 0 || c < ' ' || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029)
			return false;
	}
	return characters >= 1 && characters <= SKU_NAME_MAX;
}

static void name_take(struct json_reader *in, struct sku_put *put)
{
	const char *name = NULL;
	size_t      len = 0;

	put->named = json_has(in, "name");
	if (json_null(in, "name") || !json_string(in, "name", JSON_OPTIONAL, &name, &len) || !name)
		return;
	if (name_fits(name, len))
		memcpy(put->name, name, len);
	else
		json_refuse(in, "name", NAME_FORM);
}

static void barcodes_take(struct json_reader *in, struct sku_put *put)
{
	const void *element;
	const char *barcode;
	size_t      len, count;

	put->barcoded = json_has(in, "barcodes");
	if (!put->barcoded || json_null(in, "barcodes"))
		return;
	count = json_array(in, "barcodes", 1, BARCODES_MAX, &element);
	for (size_t i = 0; i < count && !in->failed; i++) {
		element = json_array_id(in, "barcodes", i, element, &barcode, &len);
		memcpy(put->barcodes[i], barcode, len);
		for (size_t k = 0; k < i; k++)
			if (strcmp(put->barcodes[k], put->barcodes[i]) == 0)
				json_refuse(in, "barcodes", "names a barcode twice");
		put->barcodes_count = i + 1;
	}
	assert(put->barcodes_count <= BARCODES_MAX);
}

void sku_details_take(struct json_reader *in, struct sku_put *put)
{
	name_take(in, put);
	barcodes_take(in, put);
}

static void threshold_write(struct json_writer *w, const struct sku_detail *d)
{
	json_open_object(w, NULL);
	if (d->text)
		json_put_string(w, "location", d->text);
	json_put_int(w, "low", d->number);
	json_close_object(w);
}

void sku_details_write(struct json_writer *w, const struct sku_details *d, uint32_t sku_id, bool thresholds)
{
	size_t                   count, i = 0;
	const struct sku_detail *list = sku_details_of(d, sku_id, &count);

	if (i < count && list[i].kind == DETAIL_NAME)
		json_put_string(w, "name", list[i++].text);
	if (i < count && list[i].kind == DETAIL_BARCODE) {
		json_open_array(w, "barcodes");
		for (; i < count && list[i].kind == DETAIL_BARCODE; i++)
			json_put_string(w, NULL, list[i].text);
		json_close_array(w);
	}
	if (i < count && thresholds && list[i].kind == DETAIL_THRESHOLD) {
		json_open_array(w, "thresholds");
		for (; i < count && list[i].kind == DETAIL_THRESHOLD; i++)
			threshold_write(w, &list[i]);
		json_close_array(w);
	}
	if (count > 0 && list[count - 1].kind == DETAIL_STOP && list[count - 1].text)
		json_put_string(w, "reason", list[count - 1].text);
}

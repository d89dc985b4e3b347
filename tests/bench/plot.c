/* plot.c - the table as a drawing: above, one hot sku by connections, both axes logarithmic; below, the other loads as
 * bars with the range of their turns. */
#include "engine/base/log.h"
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WIDTH = 960,
	LEFT = 70,
	RIGHT = 740, /* labels stand to the right of it */
	TOP = 60,
	BOTTOM = 430,
	BARS_TOP = 520,
	BARS_LEFT = 270,
	BAR_STEP = 26,
	LABEL_STEP = 15,
};

static const struct series {
	const char *name, *colour, *dash;
} series[] = {
	{"ORM style", "#b07d2b", ""},
	{"guarded update", "#8a5fb3", ""},
	{"classic slotted", "#c0392b", ""},
	{"WooCommerce-like", "#7f8c3a", ""},
	{"Redis Lua", "#d9628c", ""},
	{"evhttp constant", "#888888", "4 4"},
	{"Holdfast reserve", "#0b66c3", ""},
	{"Holdfast batch of 500", "#0b66c3", "8 4"}, /* one point, drawn as a level */
};

struct plot {
	FILE                 *svg;
	const struct section *section;
	double                least, most; /* of the logarithmic axis: powers of ten */
};

/* ---- above: curves */

static double x_of(double connections)
{
	return LEFT + (RIGHT - LEFT) * log(connections / 16) / log(1000.0 / 16);
}

static double y_of(const struct plot *p, double rate)
{
	return BOTTOM - (BOTTOM - TOP) * log(rate / p->least) / log(p->most / p->least);
}

static bool is_series(const struct standing *s, const char *name)
{
	return s->rounds && s->median > 0 && s->contender->connections != 1 && strcmp(s->contender->name, name) == 0;
}

static void axes_find(struct plot *p)
{
	double least = 1e9, most = 0;

	for (size_t i = 0; i < p->section->count; i++)
		for (size_t k = 0; k < LENGTH(series); k++) {
			const struct standing *s = &p->section->standings[i];

			if (is_series(s, series[k].name)) {
				least = s->median < least ? s->median : least;
				most = s->median > most ? s->median : most;
			}
		}
	p->least = most > 0 ? pow(10, floor(log10(least))) : 1;
	p->most = most > 0 ? pow(10, ceil(log10(most))) : 10;
	if (p->most <= p->least)
		p->most = p->least * 10;
}

static void text_at(struct plot *p, double x, double y, const char *anchor, const char *colour, const char *words)
{
	fprintf(p->svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x, y, anchor, colour,
	        words);
}

static void grid_draw(struct plot *p)
{
	static const int connections[] = {16, 64, 256, 1000};
	char             words[32];

	for (double decade = p->least; decade <= p->most * 1.01; decade *= 10)
		for (int i = 1; i < 10 && decade * i <= p->most * 1.01; i++) {
			double y = y_of(p, decade * i);

			fprintf(p->svg,
			        "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" "
			        "stroke-width=\"1\"/>\n",
			        LEFT, y, RIGHT, y, i == 1 ? "#cccccc" : "#f0f0f0");
			snprintf(words, sizeof(words), "%.0f", decade * i);
			if (i == 1)
				text_at(p, LEFT - 8, y + 4, "end", "#444444", words);
		}
	for (size_t i = 0; i < LENGTH(connections); i++) {
		snprintf(words, sizeof(words), "%d", connections[i]);
		text_at(p, x_of(connections[i]), BOTTOM + 20, "middle", "#444444", words);
	}
	text_at(p, (LEFT + RIGHT) / 2.0, BOTTOM + 40, "middle", "#444444", "connections");
}

struct label {
	double               y;
	const struct series *series;
	double               rate;
};

static int label_compare(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	return (x->y > y->y) - (x->y < y->y);
}

/* Names stand beside the ends of their curves, pushed apart where they would cover each other. */
static void labels_draw(struct plot *p, struct label *labels, int count)
{
	char words[64];

	qsort(labels, (size_t)count, sizeof(*labels), label_compare);
	for (int i = 1; i < count; i++)
		if (labels[i].y < labels[i - 1].y + LABEL_STEP)
			labels[i].y = labels[i - 1].y + LABEL_STEP;
	for (int i = 0; i < count; i++) {
		snprintf(words, sizeof(words), "%s  %.0f", labels[i].series->name, labels[i].rate);
		text_at(p, RIGHT + 12, labels[i].y + 4, "start", labels[i].series->colour, words);
	}
}

/* One series: a line through its points, or a level for a single one. Returns its label. */
static bool curve_draw(struct plot *p, const struct series *k, struct label *label)
{
	struct text points = {0};
	int         count = 0;

	for (size_t i = 0; i < p->section->count; i++) {
		const struct standing *s = &p->section->standings[i];

		if (!is_series(s, k->name))
			continue;
		*label = (struct label){y_of(p, s->median), k, s->median};
		text_format(&points, "%.1f,%.1f ", x_of(s->contender->connections), label->y);
		if (s->contender->connections >= 16)
			fprintf(p->svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n",
			        x_of(s->contender->connections), label->y, k->colour);
		count++;
	}
	if (count == 1) {
		text_reset(&points);
		text_format(&points, "%d,%.1f %d,%.1f", LEFT, label->y, RIGHT, label->y);
	}
	if (count > 0)
		fprintf(p->svg,
		        "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" "
		        "stroke-dasharray=\"%s\"/>\n",
		        points.data, k->colour, k->dash);
	text_fini(&points);
	return count > 0;
}

static void curves_draw(struct plot *p)
{
	struct label labels[LENGTH(series)];
	int          count = 0;

	grid_draw(p);
	for (size_t i = 0; i < LENGTH(series); i++)
		count += curve_draw(p, &series[i], &labels[count]);
	labels_draw(p, labels, count);
}

/* ---- below: bars */

static bool is_bar(const struct standing *s)
{
	for (size_t k = 0; k < LENGTH(series); k++)
		if (s->rounds && strcmp(s->contender->name, series[k].name) == 0)
			return false;
	return s->rounds && s->contender->connections != 1;
}

static int bars_count(const struct section *section, double *most)
{
	int count = 0;

	for (size_t i = 0; i < section->count; i++)
		if (is_bar(&section->standings[i])) {
			count++;
			*most = section->standings[i].most > *most ? section->standings[i].most : *most;
		}
	return count;
}

static void bars_draw(struct plot *p, double most)
{
	double y = BARS_TOP, scale = (RIGHT - BARS_LEFT) / (most > 0 ? most : 1);
	char   words[80];

	for (size_t i = 0; i < p->section->count; i++) {
		const struct standing *s = &p->section->standings[i];

		if (!is_bar(s))
			continue;
		snprintf(words, sizeof(words), "%s, %d", s->contender->name, s->contender->connections);
		text_at(p, BARS_LEFT - 8, y + 13, "end", "#222222", words);
		fprintf(p->svg, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"16\" fill=\"%s\"/>\n", BARS_LEFT, y,
		        s->median * scale, strncmp(s->contender->name, "Holdfast", 8) == 0 ? "#0b66c3" : "#888888");
		fprintf(p->svg,
		        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#222222\" "
		        "stroke-width=\"1.5\"/>\n",
		        BARS_LEFT + s->least * scale, y + 8, BARS_LEFT + s->most * scale, y + 8);
		snprintf(words, sizeof(words), "%.0f/s, p99 %.1f ms", s->median, s->p99_ms);
		text_at(p, BARS_LEFT + s->most * scale + 8, y + 13, "start", "#444444", words);
		y += BAR_STEP;
	}
}

void plot_write(const struct section *section, const char *path)
{
	struct plot p = {.svg = fopen(path, "we"), .section = section};
	double      most = 0;
	int         bars = bars_count(section, &most);

	if (!p.svg) {
		say("bench: %s cannot be written", path);
		return;
	}
	axes_find(&p);
	fprintf(p.svg,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
	        "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
	        "<g font-size=\"16\" font-weight=\"bold\">\n",
	        WIDTH, BARS_TOP + bars * BAR_STEP + 20);
	text_at(&p, LEFT, 30, "start", "#222222", "One hot sku: durable reservations a second, by connections");
	text_at(&p, LEFT, BARS_TOP - 20, "start", "#222222", "Other loads: answers a second (the line: all turns)");
	fprintf(p.svg, "</g>\n");
	curves_draw(&p);
	bars_draw(&p, most);
	fprintf(p.svg, "</svg>\n");
	if (fclose(p.svg))
		say("bench: %s is not complete", path);
}

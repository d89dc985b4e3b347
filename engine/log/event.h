/* event.h - what happened to a reservation, a movement or a level, as it stands in a row of table event: compact, in
 * the order in which it happened. A row holds all that one transaction has changed. Pure; any thread.
 *
 * A row's bytes: a version, then records. A record: its type, the key that did it, its cause, then what GET would say.
 * Numbers go seven bits a byte. Skus, locations and keys go as their numbers. A time below EVENT_TIME_MAX counts from
 * the row's own, which is not known while the transaction runs: 0 is the time of the transaction. A state or kind with
 * an unknown number reads as unknown. */
#ifndef ENGINE_EVENT_H
#define ENGINE_EVENT_H

#include "engine/log/event_type.h"

/* EVENT_LINES_MAX: lines that a record keeps, for an event of 20 kB has no room for more. EVENT_UNITS_MAX: units of
 * skus that have room in 20 kB whatever the skus are; short ones leave room for more. */
enum { EVENT_LINES_MAX = 600, EVENT_UNITS_MAX = 54 };
#define EVENT_TIME_MAX INT64_C(100000000000) /* ms: 1973 */

/* ---- writing: each call appends a record, and adds 1 to the text's count; the first one of a row the version, too */

/* The head of a record: what happened, by which key, and why. */
struct event_head {
	enum event_type type;
	uint32_t        by;      /* the key that did it; 0: none */
	const char     *cause;   /* another order, or a word; NULL or empty: none .. */
	uint64_t        task_id; /* .. or the task; 0: none */
};
/* `r` tells all but the lines. `granted`: lines have `granted` units, and those of 0 are left out; otherwise `qty`. */
void event_reservation(struct text *to, const struct event_head *head, const struct reservation *r,
                       const struct line *lines, size_t count, bool granted);
/* A reservation that has other lines than `before`. Lines have `granted` units, those before `qty`. */
void event_changed(struct text *to, const struct event_head *head, const struct reservation *r,
                   const struct line *lines, size_t count, const struct line *before, size_t before_count);
/* A reservation that enters `state` with the row: expired, settled, buried, or confirmed again by a kick. */
void event_entered(struct text *to, const struct event_head *head, const struct reservation *r,
                   enum reservation_state state);
/* `made_by`: the key that made the movement; 0: none. Lines have `granted` units. */
void event_movement(struct text *to, const struct event_head *head, const struct movement *m, uint32_t made_by,
                    const struct line *lines, size_t count);
/* location_id 0: over all. low below 0: there is no threshold. */
void event_level(struct text *to, enum event_type type, uint32_t sku_id, uint32_t location_id, int64_t available,
                 int64_t low);
struct event_units {
	uint32_t sku_id;
	int64_t  available, reserved, on_hand;
};
void event_stock(struct text *to, const struct event_units *list, size_t count);
/* Sales of a sku or at a location, which `id` is the number of, are stopped or go on. reason NULL: there is none. */
void event_sale(struct text *to, const struct event_head *head, uint32_t id, bool for_sale, const char *reason);

/* ---- reading */

struct event_row { /* a row of table event */
	uint32_t    writer_id;
	uint64_t    event_no;
	int64_t     stamp, at; /* microseconds; ms */
	const void *changes;   /* NULL: not read */
	size_t      len;
	size_t      writer; /* the merge's (feed_merge.h): index of the writer in its place */
};

/* A row of events as one number: the writer, behind it 40 bits of event_no. 0: none. */
static inline uint64_t event_link(uint32_t writer_id, uint64_t event_no)
{
	return (uint64_t)writer_id << 40 | event_no;
}
static inline uint32_t event_link_writer(uint64_t link)
{
	return (uint32_t)(link >> 40);
}
static inline uint64_t event_link_no(uint64_t link)
{
	return link & ((UINT64_C(1) << 40) - 1);
}

/* A record that was read; one of the subjects is there. One owner. */
struct feed_event {
	enum event_type type;
	uint32_t        writer_id, place; /* place in the row, from 0 */
	uint64_t        event_no;
	int64_t         stamp, at;         /* of the row */
	uint32_t        by_key, made_by;   /* keys: that did it; that made the subject; 0: none */
	char           *by, *made_by_name; /* their names, which event_decode does not know: NULL; owned */
	uint64_t        task_id;           /* the cause: a task; 0: none .. */
	char            cause[ID_MAX + 1]; /* .. or another order, or a word; empty: none */
	bool            cut;               /* lines were left out */
	bool            nameless;          /* the record has a number that the catalogue lacks */
	/* lines have codes, qty and granted, no slot; last_event is the row of the order's event before */
	struct reservation *reservation;
	struct line        *before; /* of SWAPS: its lines before; owned */
	size_t              before_count;
	struct movement    *movement; /* without its number */
	struct event_level {
		const struct sku      *sku;
		const struct location *location;       /* NULL: over all */
		int64_t                available, low; /* low below 0: there is no threshold */
	} level;
	struct event_unit {
		const struct sku *sku;
		int64_t           available, reserved, on_hand;
	} * units; /* of STOCK; owned */
	size_t units_count;
	struct event_sale {
		const struct sku      *sku; /* one of the two; both NULL: not of SALE */
		const struct location *location;
		bool                   for_sale;
		char                  *reason; /* NULL: there is none; owned */
	} sale;
};
void feed_event_free(struct feed_event *e); /* NULL is fine */

/* Appends the records of one row that the filter (NULL: all) wants, with order_id (NULL: any) those of this order, in
 * their order, to the caller's list; the others are passed over unread. Numbers that the catalogue lacks go to `skus`
 * and `locations` (of one column): with any there, free the new records, enter the names in the catalogue, and decode
 * again. false: the bytes are damaged, or of a later version; the list has what came before. */
bool event_decode(struct catalogue *c, const struct event_row *row, const struct event_filter *filter,
                  const char *order_id, struct feed_event ***list, size_t *count, size_t *max, struct values *skus,
                  struct values *locations) MUST_CHECK;

/* A line of a record that moves units. */
struct event_touch {
	enum event_type type;
	uint32_t        sku_id, location_id; /* 0: lines were left out .. */
	int64_t         taken;               /* units that may have left `available`; below 0: came back; 0: neither */
	const char     *id;                  /* .. of the reservation or movement of this id .. */
	size_t          id_len;              /* .. which lives as long as the row */
};
/* Tells of each line of the row that moves units into or out of `available` or `reserved`, and of each sku that is
 * stopped or goes on; names are not looked up, and
 * a row takes a sixth of the time of event_decode. Lines of a split count as taken: where those of the first order were
 * left out, the split's are not. false: as event_decode. */
bool event_touches(const struct event_row *row, void (*each)(void *arg, const struct event_touch *t),
                   void                   *arg) MUST_CHECK;

#endif

/* known_movement.c - see known_movement.h. */
#include "engine/known_movement.h"
#include "engine/db/db.h"

struct look {
	const struct op *movement;
	bool             known;
};

static void hash_read(void *arg, const struct db_row *row)
{
	struct look   *look = arg;
	const uint8_t *hash = look->movement->lines_hash;
	size_t         size = sizeof(look->movement->lines_hash);

	look->known = row->len[0] == size && row->col[0] && memcmp(row->col[0], hash, size) == 0;
}

enum db_result known_movement(struct db *db, const struct op *movement, bool *known)
{
	struct look    look = {.movement = movement};
	struct values  id = {0};
	enum db_result result;

	values_row(&id, V_TEXT(movement->id));
	result = db_ask(db, MOVEMENT_HASH, &(struct fill){.rows = &id}, hash_read, &look);
	values_fini(&id);
	*known = result == DB_OK && look.known;
	return result;
}

/* row.c - see row.h. */
#include "engine/db/row.h"
#include "engine/base/clock.h"
#include "engine/db/values.h"

#include <errno.h>
#include <mysql.h>

void db_other(const struct db_row *row)
{
	*row->other = true;
}

/* Nearly every number of a row: digits alone, as many as fit. */
static bool digits_read(const char *from, int64_t *number)
{
	enum { DIGITS_MAX = 18 };
	bool    negative = *from == '-';
	int64_t n = 0;
	int     digits = 0;

	for (from += negative; *from >= '0' && *from <= '9' && digits < DIGITS_MAX; from++, digits++)
		n = n * 10 + (*from - '0');
	*number = negative ? -n : n;
	return digits > 0 && *from == '\0';
}

int64_t db_int(const struct db_row *row, unsigned column)
{
	const char *from = row->col[column];
	char       *end;
	int64_t     number;

	assert(column < row->columns);
	if (!from)
		return 0;
	if (digits_read(from, &number))
		return number;
	errno = 0;
	number = strtoll(from, &end, 10);
	if (end == from || errno == ERANGE)
		db_other(row);
	return number;
}

const char *db_word(const struct db_row *row, unsigned column)
{
	assert(column < row->columns);
	if (row->col[column])
		return row->col[column];
	db_other(row);
	return "";
}

void db_copy(const struct db_row *row, unsigned column, char *to, size_t size)
{
	assert(column < row->columns);
	*to = '\0';
	if (!row->col[column] || row->len[column] >= size)
		db_other(row);
	else
		memcpy(to, row->col[column], row->len[column] + 1);
}

void db_ints(void *arg, const struct db_row *row)
{
	for (unsigned i = 0; i < row->columns; i++)
		((int64_t *)arg)[i] = db_int(row, i);
}

void db_numbers(void *arg, const struct db_row *row)
{
	struct value numbers[VALUES_COLUMNS_MAX];

	assert(row->columns <= LENGTH(numbers)); /* a statement's, not the server's */
	for (unsigned i = 0; i < row->columns; i++)
		numbers[i] = V_INT(db_int(row, i));
	values_add(arg, numbers, row->columns);
}

void db_time(void *arg, const struct db_row *row)
{
	int64_t at = time_parse(row->col[0]);

	if (at == TIME_NONE)
		db_other(row);
	else
		*(int64_t *)arg = at;
}

const char *db_column(const struct db_row *row, unsigned column)
{
	assert(column < row->columns);
	return ((const MYSQL_FIELD *)row->fields)[column].name;
}

bool db_is_number(const struct db_row *row, unsigned column)
{
	assert(column < row->columns);
	return IS_NUM(((const MYSQL_FIELD *)row->fields)[column].type);
}

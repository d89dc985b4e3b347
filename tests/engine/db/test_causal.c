/* test_causal.c - which statements a node of a cluster runs although it may be behind the others. With wsrep_sync_wait
 * = 1 a SELECT and a START TRANSACTION wait until what other nodes have committed is here. UPDATE, DELETE, INSERT ..
 * SELECT wait for nothing, nor do SET and IF that hold a SELECT. Whatever reads by one of these before its trip has
 * waited stands below, with the reason for which a node that is behind does no harm. */
#include "engine/base/base.h"
#include "engine/db/statement.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <string.h>

/* ---- what a statement waits for */

enum { WORD_MAX = 24 };

/* The next word, in capital letters, or one of ; ( ) by itself. False: the text has ended. */
static bool word_next(const char **at, char word[WORD_MAX])
{
	size_t n = 0;

	*at += strcspn(*at, ";()ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_@");
	if (**at == '\0')
		return false;
	if (strchr(";()", **at)) {
		word[0] = *(*at)++;
		word[1] = '\0';
		return true;
	}
	for (; isalnum((unsigned char)**at) || **at == '_' || **at == '@'; ++*at)
		if (n < WORD_MAX - 1)
			word[n++] = (char)toupper((unsigned char)**at);
	word[n] = '\0';
	return true;
}

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(word, *words) == 0)
			return true;
	return false;
}

/* True: it reads something before it has waited. */
static bool reads_behind(const char *text)
{
	static const char *const        waits[] = {"START", "SELECT", "WITH", NULL},
				 *const writes[] = {"UPDATE", "DELETE", NULL}, *const tells[] = {"SET",     "IF",
	                                                                                         "WHILE",   "UNTIL",
	                                                                                         "RETURN",  "INSERT",
	                                                                                         "REPLACE", NULL},
				 *const ends[] = {";", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "BEGIN", "ATOMIC", NULL};
	char                            word[WORD_MAX];
	bool                            first = true, told = false, sets = false;

	while (word_next(&text, word)) {
		if (first && is_one_of(word, waits))
			return false;
		if ((first && is_one_of(word, writes)) || (told && strcmp(word, "SELECT") == 0))
			return true;
		sets = (sets || (first && strcmp(word, "SET") == 0)) && strcmp(word, ";") != 0;
		told = first ? is_one_of(word, tells) : told && strcmp(word, ";") != 0;
		/* SET STATEMENT .. FOR: what follows is the statement; a HANDLER FOR has none that reads */
		first = is_one_of(word, ends) || (sets && strcmp(word, "FOR") == 0);
	}
	return false;
}

Test(causal, words)
{
	static const struct {
		const char *text;
		bool        behind;
	} cases[] = {
		{"SELECT 1 FROM t;", false},
		{"WITH w(n) AS (VALUES (1)) SELECT n FROM w;", false},
		{"START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;", false},
		{"INSERT INTO t (n) VALUES (1) ON DUPLICATE KEY UPDATE n = n + 1;", false},
		{"INSERT INTO t (n) SELECT n FROM u;", true},
		{"INSERT INTO t (n) WITH w(n) AS (VALUES (1)) SELECT n FROM w;", true},
		{"UPDATE t SET n = 1;", true},
		{"DELETE FROM t;", true},
		{"SET @x = 1; UPDATE t SET n = @x", true},
		{"SET STATEMENT innodb_lock_wait_timeout = 1 FOR UPDATE t SET n = 1;", true},
		{"SET STATEMENT innodb_lock_wait_timeout = 1 FOR SELECT 1;", false},
		{"BEGIN NOT ATOMIC SET x = (SELECT n FROM t); END", true},
		{"BEGIN NOT ATOMIC IF EXISTS (SELECT 1 FROM t) THEN SELECT 1; END IF; END", true},
		{"BEGIN NOT ATOMIC IF 1 THEN UPDATE t SET n = 1; END IF; END", true},
		{"BEGIN NOT ATOMIC DECLARE n INT; DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;"
	         " ROLLBACK; START TRANSACTION; UPDATE t SET n = 1; SET n = (SELECT 1 FROM t); COMMIT; END",
	         false},
		{"BEGIN NOT ATOMIC DECLARE n INT; SELECT n INTO n FROM t; DELETE FROM t; END", false},
		{"BEGIN NOT ATOMIC UPDATE t SET n = 1; START TRANSACTION; END", true},
	};

	for (size_t i = 0; i < LENGTH(cases); i++)
		cr_expect(reads_behind(cases[i].text) == cases[i].behind, "%s", cases[i].text);
}

/* ---- the reasons */

static const struct {
	const char *reason, *names; /* the names begin and end with a space */
} reasons[] = {
	{"A step of a lane's transaction, which begins with lane_enter. It changes rows that were read before, by "
         "their "
         "`changed`, by their id or by their units. Where another node has changed one of them since, the transaction "
         "is undone at its COMMIT, and tried again behind reads that have waited.",
         " lane_logs customer_raise note_states reservation_ship_after reservation_confirm reservation_confirm_late "
         "reservation_reacquire reservation_line_move reservation_line_end reservation_release_held "
         "reservation_release_from "
         "reservation_settle_from reservation_replace reservation_take_turn task_lose split_first split_line_drop "
         "split_part_add returned_note returned_make returned_add reservation_extend counted_enter stock_deduct "
         "stock_deduct_many stock_gather slots_touch slots_untouch amend_order amend_ttl amend_shorts_drop amend_add "
         "waiting_follow waiting_more waiting_less waiting_join waiting_trim waiting_raise waiting_add "
         "waiting_lose_ahead waiting_lose waiting_confirm "
         "waiting_end reservation_wait "
         "waits_since_add arrival_open_add reservation_on_hold reservation_off_hold on_hold_add on_hold_end "
         "on_hold_remove "},
	{"The fence of a lane: it really changes the row of the writer, and so does whoever takes the writer away. Of "
         "two "
         "such transactions on two nodes one is undone. Where it finds nothing the lane asks anew, and that waits.",
         " lane_enter "},
	{"A step of a compound, behind the START TRANSACTION of its frame, which waits.",
         " txn_enter promise_unwaited slots_lower slots_raise arrival_tell arrival_move arrival_close arrival_lower "
         "promise_lower reservation_serve reservation_serve_last waiting_served waiting_served_more reservation_kick "
         "reservation_settle "
         "reservation_expire level_make task_take_up "
         "task_take_up_orders task_completed task_failed task_fail task_uncharge task_give_back task_put_off "
         "task_give_back_held "
         "task_mark_returned task_heartbeat purge_rows purge_customers purge_nothing_had purge_lines purge_notes "
         "purge_shorts purge_holds purge_returned purge_splits purge_amends sales_turn sales_shut_out sales_skus "
         "sales_numbers sales_details sales_barcodes_drop sales_text sales_location "},
	{"A row that nobody else writes: of its own process, writer or deliverer.",
         " writer_touch writer_leave process_leave webhook_renew webhook_return webhook_pass webhook_save "
         "webhook_attempts_save "},
	{"It follows a SELECT of the same connection that has waited, and changes what that one has found. What was "
         "changed meanwhile no longer fits its condition, or undoes it.",
         " writers_end key_hold_enter key_hold_remove location_expect leases_bring_back orders_bring_back "
         "arrivals_bring_back webhooks_bring_back waiting_bring_back counts_bring_back task_reap "
         "purge_tasks_lost purge_tasks webhook_delete webhook_enable webhook_rotate level_answered "},
	{"A chore that comes again: a row that is not here yet is found by the next one. Where two nodes change a row, "
         "one "
         "of them is undone.",
         " process_sweep counters_take watch_claim watch_keep watch_leave watch_wish webhook_claim webhook_ask "
         "task_prolong "},
	{"Never on a cluster.", " tune_make tune_drop "},
	{"On a private server alone.", " restore_mark "},
};

static size_t reasons_of(const char *name)
{
	struct text want = {0};
	size_t      n = 0;

	text_format(&want, " %s ", name);
	for (size_t i = 0; i < LENGTH(reasons); i++)
		for (const char *at = reasons[i].names; (at = strstr(at, want.data)); at++)
			n++;
	text_fini(&want);
	return n;
}

Test(causal, whatever_reads_behind_has_a_reason)
{
	size_t found = 0, named = 0;

	for (int s = 0; s < STATEMENT_COUNT; s++) {
		bool behind = reads_behind(statements[s].text);

		found += behind;
		cr_expect(reasons_of(statements[s].name) == behind, "%s: %s", statements[s].name,
		          behind ? "it decides without having waited for other nodes, and needs one reason"
		                 : "it waits, and needs no reason");
	}
	for (size_t i = 0; i < LENGTH(reasons); i++)
		for (const char *at = reasons[i].names + 1; *at; at++)
			named += *at == ' ';
	cr_expect(named == found && found > 0, "%zu statements have a reason, %zu need one", named, found);
}

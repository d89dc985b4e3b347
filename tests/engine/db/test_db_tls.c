/* test_db_tls.c - TLS to the database: a private MariaDB on a TCP port, with a certificate or without; what is
 * encrypted, what is verified, and what is refused. The address is 127.0.0.2: at 127.0.0.1 the library of MariaDB 11.4
 * and later does not compare the name in a certificate. */
#include "engine/db/checks.h"
#include "engine/base/clock.h"
#include "tests/kit/cert.h"
#include "tests/kit/http.h"
#include "tests/kit/program.h"
#include "tests/kit/server.h"
#include "tests/kit/patience.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct server server;
static int           port;

/* `name`: of the certificate in the folder; NULL: the server speaks no TLS. */
static void tls_start(const char *name)
{
	char              at_port[40], cert[140], key[140];
	const char *const options[] = {at_port,
	                               "--skip-networking=0",
	                               "--bind-address=127.0.0.1,127.0.0.2",
	                               name ? cert : "--skip-ssl",
	                               name ? key : NULL,
	                               NULL};

	snprintf(at_port, sizeof(at_port), "--port=%d", port = server_port());
	snprintf(cert, sizeof(cert), "--ssl-cert=%s/%s.cert", server.dir, name ? name : "");
	snprintf(key, sizeof(key), "--ssl-key=%s/%s.key", server.dir, name ? name : "");
	server_start(&server, options);
}

static void setup(void)
{
	static const char *const sql[] = {
		"CREATE USER app@'127.0.0.1' IDENTIFIED BY 'open sesame'",
		"GRANT ALL ON holdfast.* TO app@'127.0.0.1'",
		NULL,
	};

	server_make(&server, sql);
	cert_write(server.dir, "right", "DNS:localhost,IP:127.0.0.2", 30);
	cert_write(server.dir, "elsewhere", "DNS:elsewhere.example", 30);
	cert_write(server.dir, "over", "DNS:localhost,IP:127.0.0.2", 0);
}

static void teardown(void)
{
	server_remove(&server);
}

TestSuite(db_tls, .init = setup, .fini = teardown);

/* ---- connections */

/* `tls_ca`: the name of a certificate; NULL: none. */
static struct db *connection_as(const char *user, enum db_tls tls, const char *tls_ca)
{
	struct db_target to = {.host = "127.0.0.2",
	                       .port = (unsigned)port,
	                       .password = "open sesame",
	                       .database = "holdfast",
	                       .tls = tls};

	snprintf(to.user, sizeof(to.user), "%s", user);
	if (tls_ca)
		snprintf(to.tls_ca, sizeof(to.tls_ca), "%s/%s.cert", server.dir, tls_ca);
	return db_new_alone(&to);
}

static struct db *connection_new(enum db_tls tls, const char *tls_ca)
{
	return connection_as("app", tls, tls_ca);
}

static void value_keep(void *arg, const struct db_row *row)
{
	snprintf(arg, 64, "%s", row->col[1]);
}

static void connects(enum db_tls tls, const char *tls_ca)
{
	struct db *db = connection_new(tls, tls_ca);
	char       cipher[64] = "";

	cr_expect(db_connect(db), "tls=%d tls_ca=%s: %s", tls, tls_ca ? tls_ca : "", db_error(db));
	cr_expect(db_text(db, "SHOW SESSION STATUS LIKE 'Ssl_cipher'", value_keep, cipher) == DB_OK);
	cr_expect((*cipher != '\0') == (tls != DB_TLS_OFF), "tls=%d is encrypted by \"%s\"", tls, cipher);
	db_free(db);
}

static void refuses(enum db_tls tls, const char *tls_ca, const char *why)
{
	struct db *db = connection_new(tls, tls_ca);

	cr_expect(!db_connect(db), "tls=%d tls_ca=%s is connected", tls, tls_ca ? tls_ca : "");
	cr_expect(strstr(db_error(db), why) && !strstr(db_error(db), "sesame"), "%u %s", db_errno(db), db_error(db));
	cr_expect(db_text(db, "SELECT 1", NULL, NULL) == DB_AWAY);
	db_free(db);
}

/* ---- tests */

Test(db_tls, encrypted_and_verified)
{
	tls_start("right");
	connects(DB_TLS_OFF, NULL);
	connects(DB_TLS_REQUIRED, NULL);
	connects(DB_TLS_VERIFY, "right");
	refuses(DB_TLS_VERIFY, "elsewhere", "self-signed certificate");
	server_stop(&server);

	tls_start("elsewhere");
	connects(DB_TLS_REQUIRED, NULL);
	refuses(DB_TLS_VERIFY, "elsewhere", "Validation of SSL server certificate failed");
	server_stop(&server);

	tls_start("over");
	refuses(DB_TLS_VERIFY, "over", "certificate has expired");
	server_stop(&server);
}

/* A connection that is not as it was asked for is not used. */
Test(db_tls, a_server_without)
{
	tls_start(NULL);
	connects(DB_TLS_OFF, NULL);
	refuses(DB_TLS_REQUIRED, NULL, "TLS is required");
	refuses(DB_TLS_VERIFY, "right", "SSL is required");
	server_stop(&server);
}

enum { NO_SUCH_PLUGIN = 1126 };

/* False: this server has no PAM. */
static bool pam_install(void)
{
	struct db *db = server_connect(&server, "holdfast");
	bool       pam = db_text(db, "INSTALL SONAME 'auth_pam_v1'", NULL, NULL) == DB_OK;

	cr_assert(pam || db_errno(db) == NO_SUCH_PLUGIN, "%s", db_error(db));
	cr_assert(!pam || db_text(db, "CREATE USER pam@'127.0.0.1' IDENTIFIED VIA pam", NULL, NULL) == DB_OK, "%s",
	          db_error(db));
	db_free(db);
	return pam;
}

/* PAM wants the password as it is. A server that has proved its name gets it, and no other. */
Test(db_tls, password_in_the_clear)
{
	static const struct {
		enum db_tls tls;
		const char *tls_ca;
		unsigned    code;
	} cases[] = {{DB_TLS_OFF, NULL, 5010}, {DB_TLS_REQUIRED, NULL, 5010}, {DB_TLS_VERIFY, "right", 1045}};

	tls_start("right");
	if (!pam_install()) {
		server_remove(&server);
		cr_skip_test("mariadb-server with its plugin of PAM is not installed");
	}
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct db *db = connection_as("pam", cases[i].tls, cases[i].tls_ca);

		cr_expect(!db_connect(db) && db_errno(db) == cases[i].code, "tls=%d: %u %s", cases[i].tls, db_errno(db),
		          db_error(db));
		db_free(db);
	}
	server_stop(&server);
}

Test(db_tls, a_silent_server)
{
	struct db *db;
	int64_t    from_ms;

	tls_start("right");
	db = connection_new(DB_TLS_VERIFY, "right");
	db_silence_set(db, 1);
	cr_assert(db_connect(db), "%s", db_error(db));
	program_signal(server.pid, SIGSTOP);
	from_ms = clock_ms();
	cr_expect(db_text(db, "SELECT 1", NULL, NULL) == DB_UNKNOWN && !db_connected(db));
	cr_expect(!db_connect(db));
	cr_expect(!patience_is_over(from_ms, PATIENCE_MS / 2), "it took %d ms", (int)(clock_ms() - from_ms));
	cr_assert(kill(server.pid, SIGCONT) == 0);
	cr_expect(db_connect(db), "%s", db_error(db));
	cr_assert(kill(server.pid, SIGKILL) == 0);
	cr_expect(db_text(db, "DO SLEEP(5)", NULL, NULL) >= DB_AWAY && !db_connected(db));
	db_free(db);
	waitpid(server.pid, NULL, 0);
	server.pid = 0;
}

Test(db_tls, doctor)
{
	struct db_target to = {.user = "app", .password = "open sesame", .database = "holdfast"};
	struct text      findings = {0};
	struct db       *db;

	tls_start("right");
	to.port = (unsigned)port;
	snprintf(to.host, sizeof(to.host), "0.0.0.0"); /* leads here, and is not known to */
	for (to.tls = DB_TLS_OFF; to.tls <= DB_TLS_REQUIRED; to.tls++) {
		db = db_new_alone(&to);
		cr_assert(db_connect(db), "%s", db_error(db));
		text_reset(&findings);
		db_doctor(db, &findings);
		cr_expect((strstr(findings.data, "the connection to 0.0.0.0 is not encrypted") != NULL) ==
		          (to.tls == DB_TLS_OFF));
		db_free(db);
	}
	text_fini(&findings);
	server_stop(&server);
}

/* The program, by its URL and a password of a file. */
Test(db_tls, service)
{
	char           url[400], log[80], options[160];
	FILE          *password;
	struct program p = {0};
	struct client  client;
	struct call    call = {.method = "POST"};
	struct answer  answer = {0};
	struct text    why = {0};

	tls_start("right");
	snprintf(log, sizeof(log), "%s/log", server.dir);
	snprintf(options, sizeof(options), "%s/password", server.dir);
	cr_assert_not_null(password = fopen(options, "we"));
	fprintf(password, "open sesame\n");
	fclose(password);
	snprintf(url, sizeof(url), "mariadb://app@127.0.0.2:%d/holdfast?tls=verify&tls_ca=%s/right.cert", port,
	         server.dir);
	snprintf(options, sizeof(options), "migrate --db-password-file %s/password", server.dir);
	cr_assert(program_run(log, url, options) == 0);
	program_start(&p, log, url, strchr(options, ' '));
	client_open(&client, p.port);
	text_add(&call.path, "/v1/movements");
	text_add(&call.body, "{\"movement_id\":\"M1\",\"kind\":\"receipt\",\"lines\":[{\"sku\":\"A\",\"qty\":9}]}");
	client_call(&client, &call, &answer);
	cr_expect(answer.status == 201, "%d %s", answer.status, answer.body.data);
	client_close(&client);
	cr_expect(program_stop(&p, &why), "%s", why.data);
	call_fini(&call);
	answer_fini(&answer);
	text_fini(&why);
	server_stop(&server);
}

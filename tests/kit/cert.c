/* cert.c - see cert.h. */
#include "engine/base/hash.h"
#include "tests/kit/cert.h"

#include <criterion/criterion.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

enum { DAY_S = 86400, HOUR_S = 3600 };

static void extension_add(X509 *cert, int which, const char *value)
{
	X509V3_CTX      context;
	X509_EXTENSION *extension;

	X509V3_set_ctx(&context, cert, cert, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, which, value);
	cr_assert(extension && X509_add_ext(cert, extension, -1), "an extension of a certificate: %s", value);
	X509_EXTENSION_free(extension);
}

static X509 *cert_new(EVP_PKEY *key, const char *names, int days)
{
	X509         *cert = X509_new();
	X509_NAME    *name = X509_get_subject_name(cert);
	unsigned char serial[8];

	random_bytes(serial, sizeof(serial));
	serial[0] =
		(unsigned char)(0x40 | (serial[0] & 0x3f)); /* an INTEGER is positive and has no superfluous zeros */
	ASN1_STRING_set(X509_get_serialNumber(cert), serial, sizeof(serial));
	X509_set_version(cert, X509_VERSION_3);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"a test", -1, -1, 0);
	X509_set_issuer_name(cert, name);
	X509_gmtime_adj(X509_getm_notBefore(cert), -DAY_S);
	X509_gmtime_adj(X509_getm_notAfter(cert), days ? days * DAY_S : -HOUR_S);
	X509_set_pubkey(cert, key);
	extension_add(cert, NID_basic_constraints, "critical,CA:TRUE");
	extension_add(cert, NID_subject_alt_name, names);
	cr_assert(X509_sign(cert, key, EVP_sha256()) > 0, "a certificate cannot be signed");
	return cert;
}

static FILE *file_open(const char *dir, const char *name, const char *kind)
{
	char  path[400];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.%s", dir, name, kind);
	file = fopen(path, "we");
	cr_assert(file, "cannot write %s", path);
	return file;
}

void cert_write(const char *dir, const char *name, const char *names, int days)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509     *cert = cert_new(key, names, days);
	FILE     *cert_file = file_open(dir, name, "cert"), *key_file = file_open(dir, name, "key");

	cr_assert(PEM_write_X509(cert_file, cert) && PEM_write_PrivateKey(key_file, key, NULL, NULL, 0, NULL, NULL));
	cr_assert(fclose(cert_file) == 0 && fclose(key_file) == 0);
	X509_free(cert);
	EVP_PKEY_free(key);
}

// SPDX-License-Identifier: Apache-2.0
// Keys made for the test, and signatures by them in every format.
#include "signing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base64.h"
#include "registry/dsse.h"

int signing_setup(void **state)
{
	struct signing *s = calloc(1, sizeof(*s));
	struct pk_err err = {0};
	if (!s)
		return -1;
	for (int i = 0; i < N_SIGNERS; i++)
		if (pk_signer_generate(
			    i == KEY_ED ? "ed25519" : "ecdsa-p256", &s->signers[i], &err) < 0)
			return -1;
	for (int i = 0; i < N_PINNED; i++) {
		s->keys[i].key = (struct pk_key *)pk_signer_key(s->signers[i]);
		s->keys[i].path = (char *)"key.pem";
	}
	s->policy =
		(struct pk_signature_policy){.required = true, .keys = s->keys, .n_keys = N_PINNED};
	s->claim =
		(struct pk_signature_claim){.policy = &s->policy, .digest = &s->digest, .seq = 7};
	*state = s;
	return pk_digest_bytes("artifact", 8, &s->digest);
}

int signing_teardown(void **state)
{
	struct signing *s = *state;
	for (int i = 0; i < N_SIGNERS; i++)
		pk_signer_destroy(s->signers[i]);
	free(s);
	return 0;
}

static char *take(struct pk_buf *buf)
{
	assert_int_equal(pk_buf_error(buf), 0);
	char *text = strdup(pk_buf_cstr(buf));
	assert_non_null(text);
	pk_buf_finish(buf);
	return text;
}

char *signing_base64(const void *bytes, size_t n)
{
	struct pk_buf text;
	pk_buf_init(&text, 1 << 20);
	assert_int_equal(pk_base64_write(bytes, n, &text), 0);
	return take(&text);
}

char *signing_sign(const struct pk_signer *signer, const void *message, size_t n)
{
	struct pk_buf raw;
	struct pk_err err = {0};
	pk_buf_init(&raw, 256);
	assert_int_equal(pk_signer_sign(signer, message, n, &raw, &err), 0);
	char *text = signing_base64(raw.data, raw.len);
	pk_buf_finish(&raw);
	return text;
}

const char *signing_hex(const struct pk_digest *digest)
{
	static char text[PK_DIGEST_TEXT];
	pk_digest_format(digest, text);
	return text + strlen(PK_DIGEST_PREFIX);
}

char *signing_cosign_payload(const char *digest)
{
	struct pk_buf text;
	pk_buf_init(&text, 4096);
	pk_buf_printf(&text,
		"{\"critical\":{\"identity\":{\"docker-reference\":\"reg.example/m\"},"
		"\"image\":{\"docker-manifest-digest\":\"%s\"},"
		"\"type\":\"cosign container image signature\"},\"optional\":null}",
		digest);
	return take(&text);
}

char *signing_statement(const char *predicate_type, const char *digest_hex)
{
	struct pk_buf text;
	pk_buf_init(&text, 4096);
	pk_buf_printf(&text,
		"{\"_type\":\"https://in-toto.io/Statement/v1\",\"subject\":[{\"digest\":"
		"{\"sha256\":\"%s\"}}],\"predicateType\":\"%s\",\"predicate\":{}}",
		digest_hex, predicate_type);
	return take(&text);
}

char *signing_bundle(const struct pk_signer *signer, const char *payload_type, const char *payload,
	const char *hint)
{
	struct pk_buf message, text;
	pk_buf_init(&message, 1 << 20);
	pk_buf_init(&text, 1 << 20);
	assert_int_equal(pk_dsse_encode(payload_type, payload, strlen(payload), &message), 0);
	char *signature = signing_sign(signer, message.data, message.len);
	char *body = signing_base64(payload, strlen(payload));
	pk_buf_printf(&text,
		"{\"mediaType\":\"application/vnd.dev.sigstore.bundle.v0.3+json\","
		"\"verificationMaterial\":{\"publicKey\":{\"hint\":\"%s\"},\"tlogEntries\":[]},"
		"\"dsseEnvelope\":{\"payload\":\"%s\",\"payloadType\":\"%s\","
		"\"signatures\":[{\"sig\":\"%s\",\"keyid\":\"\"}]}}",
		hint ? hint : "", body, payload_type, signature);
	pk_buf_finish(&message);
	free(signature);
	free(body);
	return take(&text);
}

char *signing_replace(const char *text, const char *from, const char *to)
{
	struct pk_buf out;
	const char *at = strstr(text, from);
	if (!at)
		fail_msg("'%s' has no '%s'", text, from);
	pk_buf_init(&out, 1 << 21);
	pk_buf_append(&out, text, (size_t)(at - text));
	pk_buf_str(&out, to);
	pk_buf_str(&out, at + strlen(from));
	return take(&out);
}

// SPDX-License-Identifier: Apache-2.0
// Decodes protobuf messages into plain structs by field tables.
#include "engine/onnx/record.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "engine/onnx/model.h"

struct decoder {
	struct pk_arena *arena;
	struct pk_err *err;
	int depth;
	size_t n_limited; // records with a max_total; one kind in a family has it
};

// One message while it is read twice: counts first, so that arrays are exact, then values.
struct message {
	const struct pk_record *record;
	uint8_t *out;
	size_t counts[PK_RECORD_MAX_FIELDS]; // by slot: occurrences (elements for numbers)
	size_t filled[PK_RECORD_MAX_FIELDS];
	void *arrays[PK_RECORD_MAX_FIELDS];
};

static int decode(struct decoder *dec, const struct pk_record *record, struct pk_wire wire,
	void *out) pk_must_check;

static size_t element_size(const struct pk_record_field *field)
{
	switch (field->kind) {
	case PK_RECORD_STRS:
		return sizeof(struct pk_onnx_str);
	case PK_RECORD_INTS:
		return sizeof(int64_t);
	case PK_RECORD_FLOATS:
		return sizeof(float);
	case PK_RECORD_DOUBLES:
		return sizeof(double);
	case PK_RECORD_MESSAGES:
		return field->sub->size;
	default:
		return 0;
	}
}

static bool is_numbers(enum pk_record_kind kind)
{
	return kind == PK_RECORD_INTS || kind == PK_RECORD_FLOATS || kind == PK_RECORD_DOUBLES;
}

// The wire type of one unpacked element.
static enum pk_wire_type scalar_type(enum pk_record_kind kind)
{
	switch (kind) {
	case PK_RECORD_INT:
	case PK_RECORD_IS_ONE:
	case PK_RECORD_INTS:
		return PK_WIRE_VARINT;
	case PK_RECORD_FLOAT:
	case PK_RECORD_FLOATS:
		return PK_WIRE_FIXED32;
	case PK_RECORD_DOUBLES:
		return PK_WIRE_FIXED64;
	default:
		return PK_WIRE_BYTES;
	}
}

static const struct pk_record_field *find_field(
	const struct pk_record *record, uint32_t number, size_t *slot)
{
	for (size_t i = 0; i < record->n_fields; i++) {
		const struct pk_record_field *field = &record->fields[i];
		if (field->number != number)
			continue;
		*slot = i;
		for (size_t j = 0; j < i && element_size(field); j++) {
			if (record->fields[j].offset == field->offset)
				*slot = j;
		}
		return field;
	}
	return NULL;
}

static size_t count_packed(const struct pk_record_field *field, const struct pk_wire *bytes)
{
	if (field->kind == PK_RECORD_FLOATS)
		return bytes->n / 4;
	if (field->kind == PK_RECORD_DOUBLES)
		return bytes->n / 8;
	size_t n = 0;
	for (size_t i = 0; i < bytes->n; i++)
		n += !(bytes->data[i] & 0x80);
	return n;
}

// The next field that the record knows, in the right wire type. 1, 0 at the end, or an error.
static int next_known(struct decoder *dec, const struct message *msg, struct pk_wire *wire,
	struct pk_wire_field *got, size_t *slot, const struct pk_record_field **field)
{
	int rc;
	while ((rc = pk_wire_next(wire, got, dec->err)) == 1) {
		*field = find_field(msg->record, got->number, slot);
		if (!*field)
			continue;
		bool packed = got->type == PK_WIRE_BYTES && is_numbers((*field)->kind);
		if ((*field)->kind != PK_RECORD_COUNT && !packed &&
			got->type != scalar_type((*field)->kind))
			return pk_fail(dec->err, -EINVAL,
				"offset %zu: field %u of %s has wire type %d", got->offset,
				(unsigned)got->number, msg->record->name, (int)got->type);
		return 1;
	}
	return rc;
}

static int count_fields(struct decoder *dec, struct message *msg, struct pk_wire wire)
{
	struct pk_wire_field got;
	const struct pk_record_field *field;
	size_t slot;
	int rc;
	while ((rc = next_known(dec, msg, &wire, &got, &slot, &field)) == 1) {
		bool packed = got.type == PK_WIRE_BYTES && is_numbers(field->kind);
		msg->counts[slot] += packed ? count_packed(field, &got.bytes) : 1;
	}
	return rc;
}

static int out_of_memory(struct decoder *dec, const struct pk_record *record)
{
	return pk_fail(
		dec->err, -ENOMEM, "no memory for the %s records of the model", record->name);
}

static int make_arrays(struct decoder *dec, struct message *msg)
{
	const struct pk_record *record = msg->record;
	for (size_t i = 0; i < record->n_fields; i++) {
		const struct pk_record_field *field = &record->fields[i];
		size_t size = element_size(field);
		if (!size || !msg->counts[i])
			continue;
		void *array = pk_arena_array(dec->arena, msg->counts[i], size);
		if (!array)
			return out_of_memory(dec, field->sub ? field->sub : record);
		msg->arrays[i] = array;
		memcpy(msg->out + field->offset, &array, sizeof(array));
		memcpy(msg->out + field->aux, &msg->counts[i], sizeof(msg->counts[i]));
	}
	return 0;
}

static int fill_number(struct decoder *dec, struct message *msg, size_t slot,
	const struct pk_record_field *field, struct pk_wire *bytes)
{
	uint64_t v = 0;
	uint32_t v32 = 0;
	int rc;
	size_t i = msg->filled[slot];
	// A varint that runs past the end of its packed field was counted short: caught there.
	if (field->kind == PK_RECORD_INTS)
		rc = pk_wire_varint(bytes, &v, dec->err);
	else if (field->kind == PK_RECORD_FLOATS)
		rc = pk_wire_fixed32(bytes, &v32, dec->err);
	else
		rc = pk_wire_fixed64(bytes, &v, dec->err);
	if (rc)
		return rc;
	assert(i < msg->counts[slot]);
	if (field->kind == PK_RECORD_FLOATS)
		memcpy((float *)msg->arrays[slot] + i, &v32, sizeof(v32));
	else
		memcpy((uint64_t *)msg->arrays[slot] + i, &v, sizeof(v));
	msg->filled[slot]++;
	return 0;
}

static int fill_numbers(struct decoder *dec, struct message *msg, size_t slot,
	const struct pk_record_field *field, const struct pk_wire_field *got)
{
	uint32_t low = (uint32_t)got->value;
	struct pk_wire bytes = got->bytes;
	if (got->type == PK_WIRE_BYTES) {
		while (bytes.pos < bytes.n) {
			int rc = fill_number(dec, msg, slot, field, &bytes);
			if (rc)
				return rc;
		}
		return 0;
	}
	assert(msg->filled[slot] < msg->counts[slot]);
	if (field->kind == PK_RECORD_FLOATS)
		memcpy((float *)msg->arrays[slot] + msg->filled[slot], &low, sizeof(low));
	else
		memcpy((uint64_t *)msg->arrays[slot] + msg->filled[slot], &got->value,
			sizeof(got->value));
	msg->filled[slot]++;
	return 0;
}

static int enter(struct decoder *dec, const struct pk_record *record, size_t offset)
{
	if (++dec->depth > PK_RECORD_MAX_DEPTH)
		return pk_fail(dec->err, -EINVAL, "offset %zu: nested deeper than %d messages",
			offset, PK_RECORD_MAX_DEPTH);
	if (record->max_total && ++dec->n_limited > record->max_total)
		return pk_fail(dec->err, -EINVAL, "offset %zu: more than %zu %s records", offset,
			record->max_total, record->name);
	return 0;
}

static int decode_sub(
	struct decoder *dec, const struct pk_record *record, struct pk_wire wire, void *out)
{
	int rc = enter(dec, record, wire.origin);
	if (!rc)
		rc = decode(dec, record, wire, out);
	dec->depth--;
	return rc;
}

static int decode_new(struct decoder *dec, struct message *msg, const struct pk_record_field *field,
	struct pk_wire wire)
{
	void *sub = pk_arena_alloc(dec->arena, field->sub->size);
	if (!sub)
		return out_of_memory(dec, field->sub);
	memcpy(msg->out + field->offset, &sub, sizeof(sub));
	return decode_sub(dec, field->sub, wire, sub);
}

// Protobuf says that a singular message which stands twice is merged, and that merging equals
// decoding the concatenation of the payloads: so that is what happens.
static int decode_merged(struct decoder *dec, struct message *msg,
	const struct pk_record_field *field, struct pk_wire whole)
{
	struct pk_wire_field got;
	size_t n = 0, origin = 0;
	uint8_t *bytes = pk_arena_alloc(dec->arena, whole.n);
	if (!bytes)
		return out_of_memory(dec, field->sub);
	whole.pos = 0;
	while (pk_wire_next(&whole, &got, NULL) == 1) {
		if (got.number != field->number)
			continue;
		if (!n)
			origin = got.bytes.origin;
		memcpy(bytes + n, got.bytes.data, got.bytes.n);
		n += got.bytes.n;
	}
	struct pk_wire merged = {.data = bytes, .n = n, .origin = origin};
	return decode_new(dec, msg, field, merged);
}

static void set_flag(struct message *msg, size_t aux)
{
	bool yes = true;
	if (aux != PK_RECORD_NO_AUX)
		memcpy(msg->out + aux, &yes, sizeof(yes));
}

static void fill_scalar(
	struct message *msg, const struct pk_record_field *field, const struct pk_wire_field *got)
{
	uint8_t *at = msg->out + field->offset;
	struct pk_onnx_str str = {(const char *)got->bytes.data, got->bytes.n};
	uint32_t low = (uint32_t)got->value;
	bool one = got->value == 1;
	switch (field->kind) {
	case PK_RECORD_STR:
		memcpy(at, &str, sizeof(str));
		set_flag(msg, field->aux);
		break;
	case PK_RECORD_INT:
		memcpy(at, &got->value, sizeof(got->value));
		set_flag(msg, field->aux);
		break;
	case PK_RECORD_IS_ONE:
		memcpy(at, &one, sizeof(one));
		break;
	default:
		memcpy(at, &low, sizeof(low)); // FLOAT
		break;
	}
}

static int fill_field(struct decoder *dec, struct message *msg, size_t slot,
	const struct pk_record_field *field, const struct pk_wire_field *got)
{
	struct pk_onnx_str str = {(const char *)got->bytes.data, got->bytes.n};
	size_t i = msg->filled[slot];
	switch (field->kind) {
	case PK_RECORD_INTS:
	case PK_RECORD_FLOATS:
	case PK_RECORD_DOUBLES:
		return fill_numbers(dec, msg, slot, field, got);
	case PK_RECORD_STRS:
		((struct pk_onnx_str *)msg->arrays[slot])[i] = str;
		msg->filled[slot]++;
		return 0;
	case PK_RECORD_MESSAGES:
		msg->filled[slot]++;
		return decode_sub(dec, field->sub, got->bytes,
			(uint8_t *)msg->arrays[slot] + i * field->sub->size);
	case PK_RECORD_INLINE:
		set_flag(msg, field->aux);
		return decode_sub(dec, field->sub, got->bytes, msg->out);
	case PK_RECORD_COUNT:
		memcpy(msg->out + field->offset, &msg->counts[slot], sizeof(msg->counts[slot]));
		return 0;
	case PK_RECORD_MESSAGE: // done by fill_message, which needs the whole message
		return 0;
	default:
		fill_scalar(msg, field, got);
		return 0;
	}
}

static int fill_message(struct decoder *dec, struct message *msg, size_t slot,
	const struct pk_record_field *field, const struct pk_wire_field *got,
	const struct pk_wire *whole)
{
	if (msg->filled[slot]++)
		return 0;
	if (msg->counts[slot] == 1)
		return decode_new(dec, msg, field, got->bytes);
	return decode_merged(dec, msg, field, *whole);
}

static int decode(
	struct decoder *dec, const struct pk_record *record, struct pk_wire wire, void *out)
{
	struct message msg = {.record = record, .out = out};
	struct pk_wire whole = wire;
	struct pk_wire_field got;
	const struct pk_record_field *field;
	size_t slot;
	assert(record->n_fields <= PK_RECORD_MAX_FIELDS);
	int rc = count_fields(dec, &msg, wire);
	if (!rc)
		rc = make_arrays(dec, &msg);
	if (rc)
		return rc;
	while ((rc = next_known(dec, &msg, &wire, &got, &slot, &field)) == 1) {
		rc = field->kind == PK_RECORD_MESSAGE
			     ? fill_message(dec, &msg, slot, field, &got, &whole)
			     : fill_field(dec, &msg, slot, field, &got);
		if (rc)
			return rc;
	}
	return rc;
}

int pk_record_decode(const struct pk_record *record, struct pk_wire wire, struct pk_arena *arena,
	void *out, struct pk_err *err)
{
	struct decoder dec = {.arena = arena, .err = err};
	return decode_sub(&dec, record, wire, out);
}

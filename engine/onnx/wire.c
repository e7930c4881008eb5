// SPDX-License-Identifier: Apache-2.0
// Bounded reader of the protobuf wire format over memory.
#include "engine/onnx/wire.h"

#include <errno.h>
#include <string.h>

#define MAX_FIELD_NUMBER ((UINT32_C(1) << 29) - 1)

struct pk_wire pk_wire_over(const void *data, size_t n)
{
	return (struct pk_wire){.data = data, .n = n};
}

static size_t offset_of(const struct pk_wire *wire)
{
	return wire->origin + wire->pos;
}

int pk_wire_varint(struct pk_wire *wire, uint64_t *value, struct pk_err *err)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < 10; i++) {
		if (wire->pos == wire->n)
			return pk_fail(
				err, -EINVAL, "offset %zu: varint is cut off", offset_of(wire));
		uint64_t byte = wire->data[wire->pos++];
		if (i == 9 && byte > 1)
			break;
		v |= (byte & 0x7f) << (7 * i);
		if (!(byte & 0x80)) {
			*value = v;
			return 0;
		}
	}
	return pk_fail(err, -EINVAL, "offset %zu: varint is longer than 64 bits", offset_of(wire));
}

static int read_fixed(struct pk_wire *wire, void *out, size_t n, struct pk_err *err)
{
	if (wire->n - wire->pos < n)
		return pk_fail(err, -EINVAL, "offset %zu: %zu bit value is cut off",
			offset_of(wire), 8 * n);
	memcpy(out, wire->data + wire->pos, n);
	wire->pos += n;
	return 0;
}

int pk_wire_fixed32(struct pk_wire *wire, uint32_t *value, struct pk_err *err)
{
	return read_fixed(wire, value, sizeof(*value), err);
}

int pk_wire_fixed64(struct pk_wire *wire, uint64_t *value, struct pk_err *err)
{
	return read_fixed(wire, value, sizeof(*value), err);
}

static int read_bytes(struct pk_wire *wire, struct pk_wire *payload, struct pk_err *err)
{
	uint64_t n;
	int rc = pk_wire_varint(wire, &n, err);
	if (rc)
		return rc;
	size_t left = wire->n - wire->pos;
	if (n > left)
		return pk_fail(err, -EINVAL, "offset %zu: length %llu exceeds the %zu bytes left",
			offset_of(wire), (unsigned long long)n, left);
	*payload = (struct pk_wire){
		.data = wire->data + wire->pos, .n = (size_t)n, .origin = offset_of(wire)};
	wire->pos += (size_t)n;
	return 0;
}

static int read_payload(struct pk_wire *wire, struct pk_wire_field *field, struct pk_err *err)
{
	uint32_t v = 0;
	int rc;
	switch (field->type) {
	case PK_WIRE_VARINT:
		return pk_wire_varint(wire, &field->value, err);
	case PK_WIRE_FIXED64:
		return pk_wire_fixed64(wire, &field->value, err);
	case PK_WIRE_BYTES:
		return read_bytes(wire, &field->bytes, err);
	case PK_WIRE_FIXED32:
		rc = pk_wire_fixed32(wire, &v, err);
		field->value = v;
		return rc;
	}
	return pk_fail(err, -EINVAL, "offset %zu: wire type %d is not known", field->offset,
		(int)field->type);
}

int pk_wire_next(struct pk_wire *wire, struct pk_wire_field *field, struct pk_err *err)
{
	if (wire->pos == wire->n)
		return 0;
	*field = (struct pk_wire_field){.offset = offset_of(wire)};
	uint64_t tag;
	int rc = pk_wire_varint(wire, &tag, err);
	if (rc)
		return rc;
	uint64_t number = tag >> 3;
	unsigned type = (unsigned)(tag & 7);
	if (number == 0 || number > MAX_FIELD_NUMBER)
		return pk_fail(err, -EINVAL, "offset %zu: field number %llu is out of range",
			field->offset, (unsigned long long)number);
	if (type == 3 || type == 4)
		return pk_fail(err, -EINVAL, "offset %zu: groups are not allowed", field->offset);
	field->number = (uint32_t)number;
	field->type = (enum pk_wire_type)type;
	rc = read_payload(wire, field, err);
	return rc ? rc : 1;
}

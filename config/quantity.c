// SPDX-License-Identifier: Apache-2.0
// Numbers with units as people write them: 250ms, 64KiB, 15/s.
#include "config/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "config/words.h"

struct unit {
	const char *name;
	int64_t factor;
};

static const struct unit duration_units[] = {
	{"ns", 1},
	{"us", 1000},
	{"ms", 1000000},
	{"s", 1000000000},
	{"m", 60 * INT64_C(1000000000)},
	{"h", 3600 * INT64_C(1000000000)},
	{"d", 86400 * INT64_C(1000000000)},
	{NULL, 0},
};

static const struct unit bytes_units[] = {
	{"B", 1},
	{"KiB", INT64_C(1) << 10},
	{"MiB", INT64_C(1) << 20},
	{"GiB", INT64_C(1) << 30},
	{"TiB", INT64_C(1) << 40},
	{"kB", 1000},
	{"KB", 1000},
	{"MB", 1000000},
	{"GB", 1000000000},
	{"TB", INT64_C(1000000000000)},
	{NULL, 0},
};

// What a family of quantities is called when it is explained.
struct family {
	const struct unit *units;
	const char *what;
	const char *hint;
};

static const struct family durations = {
	duration_units, "a duration", "ms, s, m, h or d, for example 30s"};
static const struct family sizes = {
	bytes_units, "a size", "B, KiB, MiB, GiB, TiB, kB, MB, GB or TB, for example 64MiB"};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

// An exact decimal: whole + frac / 10^9.
struct decimal {
	int64_t whole;
	int64_t frac; // billionths
};

// Reads digits[.digits] and gives the rest. NULL: no number, too many digits, or overflow.
static const char *read_decimal(const char *s, struct decimal *out, bool *too_large)
{
	int64_t place = 100000000;

	*out = (struct decimal){0};
	if (!digit(*s))
		return NULL;
	for (; digit(*s); s++)
		if (pk_mul_overflow(out->whole, 10, &out->whole) ||
			pk_add_overflow(out->whole, *s - '0', &out->whole)) {
			*too_large = true;
			return NULL;
		}
	if (*s != '.')
		return s;
	if (!digit(*++s))
		return NULL;
	for (; digit(*s); s++, place /= 10) {
		if (place == 0 && *s != '0')
			return NULL;
		out->frac += (*s - '0') * place;
	}
	return s;
}

// (whole + frac / 10^9) * factor, when that is a whole number that fits.
static int scale(const struct decimal *d, int64_t factor, int64_t *out)
{
	int64_t whole;
	__int128 frac = (__int128)d->frac * factor;

	if (pk_mul_overflow(d->whole, factor, &whole))
		return -ERANGE;
	if (frac % 1000000000 != 0)
		return -EINVAL;
	return pk_add_overflow(whole, (int64_t)(frac / 1000000000), out) ? -ERANGE : 0;
}

static const struct unit *find_unit(const struct family *family, const char *name)
{
	for (const struct unit *u = family->units; u->name; u++)
		if (strcmp(u->name, name) == 0)
			return u;
	return NULL;
}

static int bad_unit(
	const struct family *family, const char *text, const char *unit, struct pk_err *err)
{
	static const char *const binary[] = {"K", "M", "G", "T", NULL};

	if (*unit == '\0')
		return pk_fail(err, -EINVAL, "%s needs a unit (%s); found `%s`", family->what,
			family->hint, pk_words_quote(text).text);
	if (*unit == ' ')
		return pk_fail(
			err, -EINVAL, "`%s`: write it without a space", pk_words_quote(text).text);
	for (size_t i = 0; family == &sizes && binary[i]; i++)
		if (strcmp(unit, binary[i]) == 0)
			return pk_fail(err, -EINVAL,
				"`%s` is unclear: write %siB (1024) or %sB (1000)",
				pk_words_quote(text).text, unit, unit);
	return pk_fail(err, -EINVAL, "`%s` is no unit of %s; use %s", pk_words_quote(unit).text,
		family->what, family->hint);
}

static int parse(const struct family *family, const char *text, int64_t *out, struct pk_err *err)
{
	struct decimal d;
	bool too_large = false;
	const char *unit = read_decimal(text, &d, &too_large);

	if (too_large)
		return pk_fail(err, -ERANGE, "`%s` is too large", pk_words_quote(text).text);
	if (!unit)
		return pk_fail(err, -EINVAL, "expected %s (a number and %s); found `%s`",
			family->what, family->hint, pk_words_quote(text).text);
	if (*unit == '\0' && d.whole == 0 && d.frac == 0) {
		*out = 0;
		return 0;
	}
	const struct unit *u = find_unit(family, unit);
	if (!u)
		return bad_unit(family, text, unit, err);
	int64_t v;
	int rc = scale(&d, u->factor, &v);
	if (rc == -ERANGE)
		return pk_fail(err, rc, "`%s` is too large", pk_words_quote(text).text);
	if (rc < 0)
		return pk_fail(err, rc, "`%s` is no whole number of %s", pk_words_quote(text).text,
			family->units[0].name);
	*out = v;
	return 0;
}

int pk_quantity_duration(const char *text, int64_t *ns, struct pk_err *err)
{
	return parse(&durations, text, ns, err);
}

int pk_quantity_bytes(const char *text, int64_t *bytes, struct pk_err *err)
{
	return parse(&sizes, text, bytes, err);
}

// Length of a decimal number with optional sign, fraction and exponent; 0: none.
static size_t number_length(const char *s)
{
	const char *p = s;
	size_t digits = 0;

	if (*p == '-' || *p == '+')
		p++;
	for (; digit(*p); p++)
		digits++;
	if (*p == '.')
		for (p++; digit(*p); p++)
			digits++;
	if (digits == 0)
		return 0;
	if (*p == 'e' || *p == 'E') {
		const char *q = p + 1;
		if (*q == '-' || *q == '+')
			q++;
		if (!digit(*q))
			return (size_t)(p - s);
		while (digit(*q))
			q++;
		p = q;
	}
	return (size_t)(p - s);
}

// strtod with the C locale's decimal point, whatever the program has set.
static int to_double(const char *text, double *out)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	if (c == (locale_t)0)
		return -ENOMEM;
	double v = strtod_l(text, NULL, c);
	freelocale(c);
	if (!isfinite(v))
		return -ERANGE;
	*out = v;
	return 0;
}

int pk_quantity_float(const char *text, double *out, struct pk_err *err)
{
	size_t n = number_length(text);

	if (n == 0 || text[n] != '\0')
		return pk_fail(
			err, -EINVAL, "expected a number; found `%s`", pk_words_quote(text).text);
	int rc = to_double(text, out);
	if (rc < 0)
		return pk_fail(err, rc, "`%s` is too large", pk_words_quote(text).text);
	return 0;
}

int pk_quantity_rate(const char *text, double *hz, struct pk_err *err)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"", 1}, {"/s", 1}, {"fps", 1}, {"/m", 60}, {"/h", 3600}};
	size_t n = *text == '-' ? 0 : number_length(text);
	double v;

	for (size_t i = 0; n > 0 && i < PK_ARRAY_LEN(units); i++) {
		if (strcmp(text + n, units[i].name) != 0)
			continue;
		int rc = to_double(text, &v);
		if (rc < 0)
			return pk_fail(err, rc, "`%s` is too large", pk_words_quote(text).text);
		*hz = v / units[i].seconds;
		return 0;
	}
	return pk_fail(err, -EINVAL,
		"expected a rate (a number and /s, fps, /m or /h, for example 15/s); found `%s`",
		pk_words_quote(text).text);
}

int pk_quantity_int(const char *text, int64_t *out, struct pk_err *err)
{
	const char *p = *text == '-' ? text + 1 : text;
	bool negative = p != text;
	int64_t v = 0;

	if (!digit(*p) || (*p == '0' && p[1] != '\0'))
		return pk_fail(err, -EINVAL, "expected a whole number; found `%s`",
			pk_words_quote(text).text);
	for (; digit(*p); p++) {
		int d = negative ? '0' - *p : *p - '0';
		if (pk_mul_overflow(v, 10, &v) || pk_add_overflow(v, d, &v))
			return pk_fail(
				err, -ERANGE, "`%s` is too large", pk_words_quote(text).text);
	}
	if (*p != '\0')
		return pk_fail(err, -EINVAL, "expected a whole number; found `%s`",
			pk_words_quote(text).text);
	*out = v;
	return 0;
}

static void print_units(const char *const names[], const struct family *family, int64_t v,
	char out[PK_QUANTITY_TEXT_MAX])
{
	for (size_t i = 0; v != 0 && names[i]; i++) {
		const struct unit *u = find_unit(family, names[i]);
		if (v % u->factor == 0) {
			snprintf(
				out, PK_QUANTITY_TEXT_MAX, "%" PRId64 "%s", v / u->factor, u->name);
			return;
		}
	}
	snprintf(out, PK_QUANTITY_TEXT_MAX, "0");
}

void pk_quantity_print_duration(int64_t ns, char out[PK_QUANTITY_TEXT_MAX])
{
	static const char *const names[] = {"d", "h", "m", "s", "ms", "us", "ns", NULL};
	print_units(names, &durations, ns, out);
}

void pk_quantity_print_bytes(int64_t bytes, char out[PK_QUANTITY_TEXT_MAX])
{
	static const char *const names[] = {"TiB", "GiB", "MiB", "KiB", "B", NULL};
	print_units(names, &sizes, bytes, out);
}

void pk_quantity_print_float(double v, char out[PK_QUANTITY_TEXT_MAX])
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale_t before = c == (locale_t)0 ? c : uselocale(c);

	for (int digits = 15; digits <= 17; digits++) {
		double back;
		snprintf(out, PK_QUANTITY_TEXT_MAX, "%.*g", digits, v);
		if (to_double(out, &back) == 0 && back == v)
			break;
	}
	if (c != (locale_t)0) {
		uselocale(before);
		freelocale(c);
	}
}

void pk_quantity_print_rate(double hz, char out[PK_QUANTITY_TEXT_MAX])
{
	char number[PK_QUANTITY_TEXT_MAX];

	pk_quantity_print_float(hz, number);
	number[PK_QUANTITY_TEXT_MAX - 3] = '\0';
	snprintf(out, PK_QUANTITY_TEXT_MAX, "%.44s/s", number);
}

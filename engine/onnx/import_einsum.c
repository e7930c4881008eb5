// SPDX-License-Identifier: Apache-2.0
// Einsum as diagonals, sums, transposes and matrix products, operand by operand.
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "engine/onnx/emit.h"
#include "engine/onnx/handlers.h"

#define N_LETTERS 52
// The dims of "..." are labels too, the last one first.
#define N_LABELS     (N_LETTERS + PK_MAX_RANK)
#define MAX_OPERANDS 16

// A tensor and what its axes are called.
struct term {
	struct pk_value *value;
	int n;
	int labels[PK_MAX_RANK];
};

struct einsum {
	struct pk_importer *im;
	int64_t dims[N_LABELS]; // -1: not seen
	struct term terms[MAX_OPERANDS];
	int n_terms;
	struct term out; // no value
	int n_ellipsis;  // most dims that "..." stands for
};

typedef uint64_t label_set;

static label_set set_of(const struct term *t)
{
	label_set set = 0;
	for (int i = 0; i < t->n; i++)
		set |= (label_set)1 << t->labels[i];
	return set;
}

static bool has(label_set set, int label)
{
	return set >> label & 1;
}

static int bad(struct einsum *e, const char *what)
{
	const struct pk_onnx_str text = pk_importer_attr(e->im, "equation")->s;
	return pk_importer_fail(e->im, -EINVAL, "equation `%.*s`: %s", PK_STR_ARG(text), what);
}

static void add_label(struct einsum *e, struct term *t, int label)
{
	if (t->n == PK_MAX_RANK)
		bad(e, "it does not fit the ranks of its operands");
	else
		t->labels[t->n++] = label;
}

static bool is_dots(const char *text, size_t n, size_t i)
{
	return i + 2 < n && memcmp(text + i, "...", 3) == 0;
}

// Labels of one term's text; wide: how many dims "..." stands for. Whether that was there.
static bool parse_labels(struct einsum *e, const char *text, size_t n, int wide, struct term *out)
{
	bool dots = false;
	for (size_t i = 0; i < n && !e->im->rc; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == ' ')
			continue;
		if (!dots && is_dots(text, n, i)) {
			dots = true;
			i += 2;
			for (int k = 0; k < wide && !e->im->rc; k++)
				add_label(e, out, N_LETTERS + wide - 1 - k);
		} else if (isalpha(c)) {
			add_label(e, out, islower(c) ? c - 'a' : c - 'A' + 26);
		} else {
			bad(e, "only letters, `...`, `,` and one `->` may stand there");
		}
	}
	return dots;
}

// rank -1: the output, whose "..." is as wide as the widest.
static void parse_term(struct einsum *e, const char *text, size_t n, int rank, struct term *out)
{
	int letters = 0;
	for (size_t i = 0; i < n; i++)
		letters += isalpha((unsigned char)text[i]) != 0;
	int wide = rank < 0 ? e->n_ellipsis : rank - letters;
	out->n = 0;
	bool dots = parse_labels(e, text, n, wide, out);
	if (rank < 0 || e->im->rc)
		return;
	if (dots)
		e->n_ellipsis = PK_MAX(e->n_ellipsis, wide);
	if (out->n != rank)
		bad(e, "it does not fit the ranks of its operands");
}

static void learn_dims(struct einsum *e, const struct term *t)
{
	for (int i = 0; i < t->n && !e->im->rc; i++) {
		int64_t *known = &e->dims[t->labels[i]], dim = t->value->shape.dims[i];
		if (*known >= 0 && *known != 1 && dim != 1 && dim != *known)
			bad(e, "operands differ in the length of an axis");
		*known = *known < 0 || *known == 1 ? dim : *known;
	}
}

// Without "->": "..." first, then every letter that occurs once, in the order of the alphabet
// (capitals first).
static void implicit_output(struct einsum *e)
{
	int counts[N_LABELS] = {0};
	for (int i = 0; i < e->n_terms; i++)
		for (int k = 0; k < e->terms[i].n; k++)
			counts[e->terms[i].labels[k]]++;
	e->out.n = 0;
	for (int k = e->n_ellipsis; k-- > 0;)
		e->out.labels[e->out.n++] = N_LETTERS + k;
	for (int k = 0; k < N_LETTERS; k++) {
		int label = k < 26 ? k + 26 : k - 26;
		if (counts[label] != 1)
			continue;
		if (e->out.n == PK_MAX_RANK) {
			bad(e, "the output has too many dimensions");
			return;
		}
		e->out.labels[e->out.n++] = label;
	}
}

static void check_output(struct einsum *e)
{
	label_set seen = 0;
	for (int i = 0; i < e->out.n && !e->im->rc; i++) {
		int label = e->out.labels[i];
		if (e->dims[label] < 0 || has(seen, label))
			bad(e, "a letter of the output occurs twice, or in no operand");
		seen |= (label_set)1 << label;
	}
}

static void parse(struct einsum *e, struct pk_onnx_str text)
{
	size_t n = text.n;
	bool is_explicit = false;
	for (size_t i = 0; i + 1 < text.n && !is_explicit; i++)
		if (text.data[i] == '-' && text.data[i + 1] == '>') {
			n = i;
			is_explicit = true;
		}
	const char *at = text.data;
	for (size_t left = n; !e->im->rc;) {
		const char *comma = left ? memchr(at, ',', left) : NULL;
		size_t len = comma ? (size_t)(comma - at) : left;
		if (e->n_terms == e->im->n_inputs) {
			bad(e, "it has more terms than operands");
			return;
		}
		struct term *t = &e->terms[e->n_terms];
		t->value = e->im->inputs[e->n_terms++];
		parse_term(e, at, len, t->value->shape.rank, t);
		learn_dims(e, t);
		if (!comma)
			break;
		at = comma + 1;
		left -= len + 1;
	}
	if (!e->im->rc && e->n_terms != e->im->n_inputs)
		bad(e, "it has fewer terms than operands");
	if (is_explicit && !e->im->rc)
		parse_term(e, text.data + n + 2, text.n - n - 2, -1, &e->out);
	else if (!e->im->rc)
		implicit_output(e);
	check_output(e);
}

static void transpose(struct einsum *e, struct term *t, const int64_t *perm)
{
	struct term old = *t;
	bool moves = false;
	for (int i = 0; i < t->n; i++) {
		t->labels[i] = old.labels[perm[i]];
		moves |= perm[i] != i;
	}
	if (!moves)
		return;
	struct pk_node *node = pk_emit_begin(e->im, PK_OP_TRANSPOSE, &old.value, 1);
	if (node)
		pk_node_set_ints(node, PK_ATTR_PERM, perm, t->n);
	t->value = pk_emit_end(e->im, node, PK_TEMP, NULL);
}

// Axes a < b have one label: the diagonal remains, as the last axis. [.., n, n] → [.., n * n], of
// which every n + 1-th element is wanted.
static void take_diagonal(struct einsum *e, struct term *t, int a, int b)
{
	int64_t perm[PK_MAX_RANK], starts[PK_MAX_RANK] = {0}, steps[PK_MAX_RANK], n = 0;
	for (int i = 0; i < t->n; i++)
		if (i != a && i != b)
			perm[n++] = i;
	perm[n++] = a;
	perm[n] = b;
	if (t->value->shape.dims[a] != t->value->shape.dims[b]) {
		bad(e, "a diagonal of axes that differ in length");
		return;
	}
	transpose(e, t, perm);
	if (e->im->rc)
		return;
	t->n--;
	struct pk_shape shape = t->value->shape;
	int64_t dim = shape.dims[t->n];
	shape.rank--;
	shape.dims[t->n - 1] = dim * dim;
	struct pk_value *y = pk_emit_reshape(e->im, PK_TEMP, t->value, &shape);
	for (int i = 0; i < t->n; i++)
		steps[i] = 1;
	steps[t->n - 1] = dim + 1;
	shape.dims[t->n - 1] = dim;
	struct pk_node *node = pk_emit_begin(e->im, PK_OP_SLICE, &y, 1);
	if (node) {
		pk_node_set_ints(node, PK_ATTR_STARTS, starts, t->n);
		pk_node_set_ints(node, PK_ATTR_STEPS, steps, t->n);
	}
	t->value = pk_emit_end(e->im, node, PK_TEMP, &shape);
}

// Every label once, every axis as long as its label says.
static void normalise(struct einsum *e, struct term *t)
{
	for (int a = 0; a < t->n && !e->im->rc; a++)
		for (int b = a + 1; b < t->n && !e->im->rc; b++)
			if (t->labels[a] == t->labels[b]) {
				take_diagonal(e, t, a, b);
				a = -1;
				break;
			}
	if (e->im->rc)
		return;
	struct pk_shape shape = t->value->shape;
	for (int i = 0; i < t->n; i++)
		shape.dims[i] = e->dims[t->labels[i]];
	if (pk_shape_elements(&shape) < 0) {
		bad(e, "an operand is too large");
		return;
	}
	t->value = pk_emit_expand(e->im, PK_TEMP, t->value, &shape);
}

// Sums over the axes that are not in keep.
static void sum_out(struct einsum *e, struct term *t, label_set keep)
{
	struct pk_ints axes = {0};
	int n = 0;
	for (int i = 0; i < t->n; i++)
		if (has(keep, t->labels[i]))
			t->labels[n++] = t->labels[i];
		else
			axes.v[axes.n++] = i;
	t->n = n;
	if (axes.n && !e->im->rc)
		t->value = pk_emit_reduce(e->im, PK_TEMP, PK_FN_REDUCE_SUM, t->value, &axes, false);
}

// Orders t's axes: those of first, of second, of third; and sees each group as one axis.
static struct pk_value *as_stack(struct einsum *e, struct term *t, const label_set groups[3])
{
	int64_t perm[PK_MAX_RANK], n = 0;
	struct pk_shape stack = {3, {1, 1, 1}};
	for (int g = 0; g < 3; g++)
		for (int label = 0; label < N_LABELS; label++)
			for (int i = 0; i < t->n; i++)
				if (t->labels[i] == label && has(groups[g], label)) {
					perm[n++] = i;
					stack.dims[g] *= e->dims[label];
				}
	transpose(e, t, perm);
	return pk_emit_reshape(e->im, PK_TEMP, t->value, &stack);
}

// acc * t, summed over what nobody wants later: a stack of matrix products.
static void contract(struct einsum *e, struct term *acc, struct term *t, label_set keep)
{
	label_set a = set_of(acc), b = set_of(t), both = a & b;
	label_set batch = both & keep, inner = both & ~keep;
	label_set left[3] = {batch, a & ~both, inner}, right[3] = {batch, inner, b & ~both};
	struct pk_value *operands[] = {as_stack(e, acc, left), as_stack(e, t, right)};
	struct pk_value *y = NULL;
	if (inner) {
		struct pk_node *node = pk_emit_begin(e->im, PK_OP_MATMUL, operands, 2);
		y = pk_emit_end(e->im, node, PK_TEMP, NULL);
	} else { // [b, m, 1] by [b, 1, n]
		y = pk_emit_binary(e->im, PK_TEMP, PK_FN_MUL, operands[0], operands[1]);
	}
	label_set groups[] = {batch, left[1], right[2]};
	struct pk_shape shape = {0};
	acc->n = 0;
	for (int g = 0; g < 3; g++)
		for (int label = 0; label < N_LABELS; label++) {
			if (!has(groups[g], label))
				continue;
			if (shape.rank == PK_MAX_RANK) {
				bad(e, "a product has too many dimensions");
				return;
			}
			acc->labels[acc->n++] = label;
			shape.dims[shape.rank++] = e->dims[label];
		}
	acc->value = pk_emit_reshape(e->im, PK_TEMP, y, &shape);
}

static void multiply(struct einsum *e)
{
	struct term *acc = &e->terms[0];
	label_set later[MAX_OPERANDS + 1];
	later[e->n_terms] = set_of(&e->out);
	for (int i = e->n_terms; i-- > 0;) {
		normalise(e, &e->terms[i]);
		later[i] = later[i + 1] | set_of(&e->terms[i]);
	}
	sum_out(e, acc, later[1]);
	for (int i = 1; i < e->n_terms && !e->im->rc; i++) {
		struct term *t = &e->terms[i];
		sum_out(e, t, later[i + 1] | set_of(acc));
		sum_out(e, acc, later[i + 1] | set_of(t));
		if (!e->im->rc)
			contract(e, acc, t, later[i + 1]);
	}
}

static void order_output(struct einsum *e)
{
	struct term *acc = &e->terms[0];
	int64_t perm[PK_MAX_RANK] = {0};
	for (int i = 0; i < e->out.n; i++)
		for (int k = 0; k < acc->n; k++)
			if (acc->labels[k] == e->out.labels[i])
				perm[i] = k;
	if (!e->im->rc)
		transpose(e, acc, perm);
	pk_emit_alias(e->im, 0, acc->value);
}

int pk_import_einsum(struct pk_importer *im)
{
	struct einsum e = {.im = im};
	for (int i = 0; i < N_LABELS; i++)
		e.dims[i] = -1;
	if (im->n_inputs > MAX_OPERANDS)
		return pk_importer_fail(
			im, -ENOTSUP, "%d operands; %d are supported", im->n_inputs, MAX_OPERANDS);
	parse(&e, pk_importer_attr(im, "equation")->s);
	if (!im->rc)
		multiply(&e);
	if (!im->rc)
		order_output(&e);
	return im->rc;
}

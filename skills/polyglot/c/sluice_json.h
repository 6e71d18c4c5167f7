// sluice_json.h reads and writes text and JSON for sluice.h. It needs a libc
// with malloc and strtod. Nothing is ever freed: see sluice.h.
//
// Reading needs no tree: sluice_parse proves once that a text is JSON, and a
// sluice_value is a part of that text. Writing appends to a sluice_json, with
// the same bytes as the Go sdk.
#ifndef SLUICE_JSON_H
#define SLUICE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SLUICE_DEPTH 128 // of JSON: each level takes stack, of which there are 64 KiB

// ---- Text ----

// A sluice_text is UTF-8 of a length; it may hold NUL. {NULL, 0} is no text.
typedef struct {
	const char *at;
	size_t length;
} sluice_text;

#define SLUICE_TEXT(literal) ((sluice_text){"" literal, sizeof(literal) - 1})

// SLUICE_JOIN makes one text of several.
#define SLUICE_JOIN(...) \
	sluice_join((const sluice_text[]){__VA_ARGS__}, sizeof((const sluice_text[]){__VA_ARGS__}) / sizeof(sluice_text))

static inline void *sluice_alloc(size_t size) {
	void *p = malloc(size > 0 ? size : 1);
	if (p == NULL)
		abort(); // a trap, or the call's memory limit: the host tells which
	return p;
}

static inline sluice_text sluice_join(const sluice_text *parts, size_t count) {
	size_t length = 0;
	for (size_t i = 0; i < count; i++)
		length += parts[i].length;
	char *at = sluice_alloc(length), *to = at;
	for (size_t i = 0; i < count; i++)
		if (parts[i].length > 0)
			to = (char *)memcpy(to, parts[i].at, parts[i].length) + parts[i].length;
	return (sluice_text){at, length};
}

static inline bool sluice_equal(sluice_text a, sluice_text b) {
	return a.length == b.length && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

// sluice_decimal writes a number.
static inline sluice_text sluice_decimal(int64_t n) {
	char digits[20], *at = digits + sizeof digits;
	uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;
	do
		*--at = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (n < 0)
		*--at = '-';
	return sluice_join(&(sluice_text){at, (size_t)(digits + sizeof digits - at)}, 1);
}

static inline sluice_text sluice_c_text(const char *text) { return (sluice_text){text, strlen(text)}; }

// ---- Writing JSON ----

// A sluice_json is JSON that is being written. {0} is empty.
typedef struct {
	char *at;
	size_t length, room;
} sluice_json;

static inline void sluice_raw(sluice_json *j, const char *bytes, size_t n) {
	if (n > j->room - j->length) {
		size_t room = 2 * j->room + n + 64;
		char *at = sluice_alloc(room);
		if (j->length > 0)
			memcpy(at, j->at, j->length);
		j->at = at, j->room = room;
	}
	if (n > 0)
		memcpy(j->at + j->length, bytes, n);
	j->length += n;
}

// sluice_raw_text writes a part that is JSON already.
static inline void sluice_raw_text(sluice_json *j, sluice_text t) { sluice_raw(j, t.at, t.length); }

// sluice_quote writes a text as JSON, with the same bytes as the Go sdk.
static inline void sluice_quote(sluice_json *j, sluice_text t) {
	static const char hex[] = "0123456789abcdef", escapes[] = "btn\0fr"; // of 8 to 13
	sluice_raw(j, "\"", 1);
	size_t from = 0;
	for (size_t i = 0; i < t.length; i++) {
		unsigned char c = (unsigned char)t.at[i];
		char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
		size_t n = 6, taken = 1;
		if (c == '"' || c == '\\') {
			escape[1] = (char)c, n = 2;
		} else if (c >= '\b' && c <= '\r' && escapes[c - '\b'] != 0) {
			escape[1] = escapes[c - '\b'], n = 2;
		} else if (c == 0xe2 && t.length - i > 2 && (uint8_t)t.at[i + 1] == 0x80 && ((uint8_t)t.at[i + 2] & ~1) == 0xa8) {
			memcpy(escape, t.at[i + 2] & 1 ? "\\u2029" : "\\u2028", 6), taken = 3; // ends a line in JavaScript
		} else if (c >= ' ') {
			continue;
		}
		sluice_raw(j, t.at + from, i - from);
		sluice_raw(j, escape, n);
		from = i + taken, i = from - 1;
	}
	sluice_raw(j, t.at + from, t.length - from);
	sluice_raw(j, "\"", 1);
}

// sluice_next writes the comma before an item that is not the first.
static inline void sluice_next(sluice_json *j) {
	if (j->length > 0 && strchr("{[:,", j->at[j->length - 1]) == NULL)
		sluice_raw(j, ",", 1);
}

static inline void sluice_name(sluice_json *j, const char *name) {
	sluice_next(j);
	sluice_quote(j, sluice_c_text(name));
	sluice_raw(j, ":", 1);
}

// sluice_object, sluice_list and their ends, in an object with a name before.
static inline void sluice_object(sluice_json *j) { sluice_next(j), sluice_raw(j, "{", 1); }
static inline void sluice_close(sluice_json *j) { sluice_raw(j, "}", 1); }
static inline void sluice_list(sluice_json *j) { sluice_next(j), sluice_raw(j, "[", 1); }
static inline void sluice_close_list(sluice_json *j) { sluice_raw(j, "]", 1); }

static inline void sluice_put_text(sluice_json *j, const char *name, sluice_text t) { sluice_name(j, name), sluice_quote(j, t); }
static inline void sluice_put_int(sluice_json *j, const char *name, int64_t n) { sluice_name(j, name), sluice_raw_text(j, sluice_decimal(n)); }
static inline void sluice_put_raw(sluice_json *j, const char *name, sluice_text t) { sluice_name(j, name), sluice_raw_text(j, t); }

static inline sluice_text sluice_written(const sluice_json *j) { return (sluice_text){j->at, j->length}; }

// ---- Reading JSON ----

// A sluice_value is one value inside JSON that was proved by sluice_parse.
// {NULL, NULL} is a value that is not there.
typedef struct {
	const char *at, *end;
} sluice_value;

static inline const char *sluice_space(const char *p, const char *end) {
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

static inline bool sluice_is_digit(const char *p, const char *end) { return p < end && *p >= '0' && *p <= '9'; }

static inline int sluice_hex(const char *p, const char *end) {
	int value = 0;
	for (int i = 0; i < 4; i++, p++) {
		if (p >= end)
			return -1;
		int c = *p | ('a' - 'A');
		if (*p >= '0' && *p <= '9')
			value = value * 16 + *p - '0';
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + c - 'a' + 10;
		else
			return -1;
	}
	return value;
}

// The sluice_skip functions give where a value ends, or NULL where it is none.
static inline const char *sluice_skip_text(const char *p, const char *end) {
	for (p++; p < end && *p != '"'; p++) {
		if ((unsigned char)*p < ' ')
			return NULL;
		if (*p != '\\')
			continue;
		if (++p >= end || strchr("\"\\/bfnrtu", *p) == NULL || *p == 0 || (*p == 'u' && sluice_hex(p + 1, end) < 0))
			return NULL;
	}
	return p < end ? p + 1 : NULL;
}

static inline const char *sluice_skip_number(const char *p, const char *end) {
	p += p < end && *p == '-';
	if (!sluice_is_digit(p, end) || (*p == '0' && sluice_is_digit(p + 1, end)))
		return NULL;
	while (sluice_is_digit(p, end))
		p++;
	if (p < end && *p == '.') {
		if (!sluice_is_digit(++p, end))
			return NULL;
		while (sluice_is_digit(p, end))
			p++;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		p += p < end && (*p == '+' || *p == '-');
		if (!sluice_is_digit(p, end))
			return NULL;
		while (sluice_is_digit(p, end))
			p++;
	}
	return p;
}

static inline const char *sluice_skip_word(const char *p, const char *end) {
	static const char *const words[] = {"true", "false", "null"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i]);
		if ((size_t)(end - p) >= n && memcmp(p, words[i], n) == 0)
			return p + n;
	}
	return NULL;
}

static inline const char *sluice_skip(const char *p, const char *end, int depth) {
	p = sluice_space(p, end);
	if (p >= end || depth > SLUICE_DEPTH)
		return NULL;
	if (*p == '"')
		return sluice_skip_text(p, end);
	if (*p != '{' && *p != '[')
		return *p == '-' || sluice_is_digit(p, end) ? sluice_skip_number(p, end) : sluice_skip_word(p, end);
	const bool object = *p == '{';
	const char close = object ? '}' : ']';
	p = sluice_space(p + 1, end);
	if (p < end && *p == close)
		return p + 1;
	while (p < end) {
		if (object) {
			if (*p != '"' || (p = sluice_skip_text(p, end)) == NULL)
				return NULL;
			p = sluice_space(p, end);
			if (p >= end || *p++ != ':')
				return NULL;
		}
		if ((p = sluice_skip(p, end, depth + 1)) == NULL)
			return NULL;
		p = sluice_space(p, end);
		if (p < end && *p == close)
			return p + 1;
		if (p >= end || *p != ',')
			return NULL;
		p = sluice_space(p + 1, end);
	}
	return NULL;
}

// sluice_parse proves that a text is JSON. Where it is not, found is false.
static inline sluice_value sluice_parse(sluice_text t, bool *found) {
	const char *at = sluice_space(t.at, t.at + t.length), *end = sluice_skip(at, t.at + t.length, 0);
	*found = end != NULL && sluice_space(end, t.at + t.length) == t.at + t.length;
	return *found ? (sluice_value){at, end} : (sluice_value){NULL, NULL};
}

static inline size_t sluice_utf8(char *to, uint32_t c) {
	if (c < 0x80)
		return to[0] = (char)c, 1;
	if (c < 0x800)
		return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
	if (c < 0x10000)
		return to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 63)), to[2] = (char)(0x80 | (c & 63)), 3;
	to[0] = (char)(0xf0 | c >> 18), to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63)), to[3] = (char)(0x80 | (c & 63));
	return 4;
}

// sluice_unescape reads the four digits of an escape, and those of its other
// half; a half that stands alone is the replacement character.
static inline uint32_t sluice_unescape(const char **p, const char *end) {
	uint32_t c = (uint32_t)sluice_hex(*p, end);
	*p += 4;
	if (c < 0xd800 || c > 0xdfff)
		return c;
	int low = c < 0xdc00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u' ? sluice_hex(*p + 2, end) : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return 0xfffd;
	*p += 6;
	return 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
}

// sluice_text_of reads a text; of any other value it gives no text.
static inline sluice_text sluice_text_of(sluice_value v) {
	if (v.at == NULL || *v.at != '"')
		return (sluice_text){NULL, 0};
	const char *p = v.at + 1, *end = v.end - 1;
	if (memchr(p, '\\', (size_t)(end - p)) == NULL)
		return (sluice_text){p, (size_t)(end - p)};
	char *at = sluice_alloc((size_t)(end - p)), *to = at; // no escape is shorter than what it stands for
	while (p < end) {
		if (*p != '\\') {
			*to++ = *p++;
			continue;
		}
		const char *escapes = "b\bf\fn\nr\rt\t", *known = strchr(escapes, p[1]);
		if (p[1] == 'u') {
			p += 2;
			to += sluice_utf8(to, sluice_unescape(&p, end));
		} else {
			*to++ = known != NULL ? known[1] : p[1];
			p += 2;
		}
	}
	return (sluice_text){at, (size_t)(to - at)};
}

// sluice_int_of reads a whole number; of any other value, and of one with more
// than 18 digits, it gives false.
static inline bool sluice_int_of(sluice_value v, int64_t *number) {
	if (v.at == NULL || v.end - v.at > 19)
		return false;
	const char *p = v.at + (*v.at == '-');
	int64_t n = 0;
	for (; sluice_is_digit(p, v.end); p++)
		n = n * 10 + (*p - '0');
	if (p < v.end || !sluice_is_digit(v.end - 1, v.end) || v.end - v.at - (*v.at == '-') > 18)
		return false;
	*number = *v.at == '-' ? -n : n;
	return true;
}

// sluice_number_of reads any number; of any other value it gives false. What
// people write, up to 15 digits and a few decimals, takes one exact division;
// the rest is left to strtod, which takes a thousand times as long.
static inline bool sluice_number_of(sluice_value v, double *number) {
	static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
	if (v.at == NULL || (*v.at != '-' && !sluice_is_digit(v.at, v.end)))
		return false;
	const char *p = v.at + (*v.at == '-'), *point = NULL;
	int64_t digits = 0;
	for (; v.end - v.at <= 16 && p < v.end && (*p == '.' || sluice_is_digit(p, v.end)); p++) {
		if (*p == '.')
			point = p;
		else
			digits = digits * 10 + (*p - '0');
	}
	ptrdiff_t decimals = point == NULL ? 0 : v.end - point - 1;
	if (p == v.end && decimals <= 6)
		*number = (double)(*v.at == '-' ? -digits : digits) / tens[decimals];
	else
		*number = strtod(v.at, NULL); // something that is no number, or the block's NUL, stands behind it
	return true;
}

static inline bool sluice_is_null(sluice_value v) { return v.at == NULL || *v.at == 'n'; }
static inline bool sluice_is_object(sluice_value v) { return v.at != NULL && *v.at == '{'; }

// A sluice_cursor walks through an object or a list; begin it with {value}.
typedef struct {
	sluice_value of;
	const char *at;
	sluice_text name; // of the member, in an object
	sluice_value value;
} sluice_cursor;

// sluice_each goes on to the next item; at the end it gives false.
static inline bool sluice_each(sluice_cursor *c) {
	if (c->of.at == NULL || (*c->of.at != '{' && *c->of.at != '['))
		return false;
	const char *end = c->of.end, *p = sluice_space(c->at == NULL ? c->of.at + 1 : c->at, end);
	if (*p == ',')
		p = sluice_space(p + 1, end);
	if (*p == '}' || *p == ']')
		return false;
	if (*c->of.at == '{') {
		const char *name = p;
		p = sluice_skip_text(p, end);
		c->name = sluice_text_of((sluice_value){name, p});
		p = sluice_space(sluice_space(p, end) + 1, end);
	}
	c->value = (sluice_value){p, sluice_skip(p, end, 0)};
	c->at = c->value.end;
	return true;
}

// sluice_member gives a member of an object, the last of that name.
static inline sluice_value sluice_member(sluice_value object, const char *name) {
	sluice_value found = {NULL, NULL};
	for (sluice_cursor c = {.of = object}; sluice_is_object(object) && sluice_each(&c);)
		if (sluice_equal(c.name, sluice_c_text(name)))
			found = c.value;
	return found;
}

#endif

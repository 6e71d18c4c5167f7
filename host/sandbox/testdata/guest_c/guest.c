// A guest in C over wasi-libc. It does what testdata/guest_go says.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENV(name) __attribute__((import_module("extism:host/env"), import_name(name)))
ENV("input_length") uint64_t input_length(void);
ENV("input_load_u8") uint32_t input_load_u8(uint64_t at);
ENV("alloc") uint64_t block_alloc(uint64_t size);
ENV("store_u8") void store_u8(uint64_t at, uint32_t value);
ENV("output_set") void output_set(uint64_t at, uint64_t length);
ENV("error_set") void error_set(uint64_t at);

enum { LONGEST = 64, BUFFER_UNIT = 1024 };
static const uint64_t prime = 1099511628211u;

typedef struct {
	uint8_t *bytes;
	size_t length;
} field;

// All of this would show a second call in the same instance.
static uint64_t table[256]; // made by the start
static uint32_t calls;
static uint64_t sum;
static field *fields; // grows and grows
static size_t count, room;

__attribute__((constructor)) static void make_table(void) {
	table[0] = 1;
	for (int i = 1; i < 256; i++)
		table[i] = table[i - 1] * 6364136223846793005u + 1442695040888963407u;
}

static uint64_t block_of(const char *text) {
	size_t n = strlen(text);
	uint64_t at = block_alloc(n);
	for (size_t i = 0; i < n; i++)
		store_u8(at + i, (uint8_t)text[i]);
	return at;
}

static int32_t fail(const char *text) {
	error_set(block_of(text));
	return 1;
}

static void *checked(void *p) {
	if (p == NULL)
		abort();
	return p;
}

static void keep(const uint8_t *bytes, size_t n) {
	if (count == room) {
		room = room == 0 ? 4 : room * 2;
		fields = checked(realloc(fields, room * sizeof *fields));
	}
	uint8_t *copy = checked(malloc(n));
	memcpy(copy, bytes, n);
	fields[count++] = (field){copy, n};
}

static int is_number(const uint8_t *bytes, size_t n) {
	for (size_t i = 0; i < n; i++)
		if (bytes[i] < '0' || bytes[i] > '9')
			return 0;
	return 1;
}

static void add(const uint8_t *bytes, size_t n) {
	uint64_t value = 0;
	for (size_t i = 0; i < n; i++)
		value = value * 10 + (bytes[i] - '0');
	sum += value;
	size_t size = value % 64 * BUFFER_UNIT;
	if (size == 0)
		return;
	uint8_t *buffer = checked(malloc(size));
	for (size_t i = 0; i < size; i++)
		buffer[i] = (uint8_t)(i * 7 + value);
	for (size_t i = 0; i < size; i += 61)
		sum += buffer[i];
	free(buffer);
}

static int by_bytes(const void *x, const void *y) {
	const field *a = x, *b = y;
	int order = memcmp(a->bytes, b->bytes, a->length < b->length ? a->length : b->length);
	return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static uint64_t digest(void) {
	uint64_t h = 14695981039346656037u;
	qsort(fields, count, sizeof *fields, by_bytes);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < fields[i].length; j++)
			h = (h ^ fields[i].bytes[j]) * prime + table[fields[i].bytes[j]];
		h = h * prime ^ fields[i].length;
	}
	return h;
}

static uint8_t *read_input(size_t n) {
	uint8_t *input = checked(malloc(n + 1));
	for (size_t i = 0; i < n; i++)
		input[i] = (uint8_t)input_load_u8(i);
	input[n] = ' ';
	return input;
}

__attribute__((export_name("tally"))) int32_t tally(void) {
	calls++;
	size_t n = input_length(), from = 0;
	uint8_t *input = read_input(n);
	for (size_t i = 0; i <= n; i++) {
		if (input[i] != ' ')
			continue;
		size_t length = i - from;
		const uint8_t *bytes = input + from;
		from = i + 1;
		if (length == 0)
			continue;
		if (length > LONGEST)
			return fail("a field is too long");
		if (length == 1 && bytes[0] == '!')
			__builtin_trap();
		keep(bytes, length);
		if (is_number(bytes, length))
			add(bytes, length);
	}
	char text[128];
	snprintf(text, sizeof text, "calls=%u fields=%zu sum=%llu digest=%016llx", calls, count, (unsigned long long)sum, (unsigned long long)digest());
	output_set(block_of(text), strlen(text));
	return 0;
}

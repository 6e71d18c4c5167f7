// Extism's ABI, as far as the guest uses it, and how to move bytes over it.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ENV(name) __attribute__((import_module("extism:host/env"), import_name(name))) extern
ENV("alloc") uint64_t extism_alloc(uint64_t length);
ENV("length") uint64_t extism_length(uint64_t block);
ENV("load_u8") uint32_t extism_load_u8(uint64_t at);
ENV("load_u64") uint64_t extism_load_u64(uint64_t at);
ENV("store_u8") void extism_store_u8(uint64_t at, uint32_t value);
ENV("store_u64") void extism_store_u64(uint64_t at, uint64_t value);
ENV("input_length") uint64_t extism_input_length(void);
ENV("input_load_u8") uint32_t extism_input_load_u8(uint64_t at);
ENV("input_load_u64") uint64_t extism_input_load_u64(uint64_t at);
ENV("output_set") void extism_output_set(uint64_t at, uint64_t length);
ENV("error_set") void extism_error_set(uint64_t block);
ENV("config_get") uint64_t extism_config_get(uint64_t key);
ENV("var_get") uint64_t extism_var_get(uint64_t key);
ENV("var_set") void extism_var_set(uint64_t key, uint64_t value);
ENV("log_debug") void extism_log_debug(uint64_t block);
ENV("log_info") void extism_log_info(uint64_t block);
ENV("log_warn") void extism_log_warn(uint64_t block);
ENV("log_error") void extism_log_error(uint64_t block);
ENV("http_request") uint64_t extism_http_request(uint64_t request, uint64_t body);

static uint64_t block_of(const void *bytes, size_t n) {
	uint64_t block = extism_alloc(n), word;
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		memcpy(&word, (const char *)bytes + i, 8);
		extism_store_u64(block + i, word);
	}
	for (; i < n; i++)
		extism_store_u8(block + i, ((const uint8_t *)bytes)[i]);
	return block;
}

static uint64_t block_of_text(const char *text) { return block_of(text, strlen(text)); }

// read_block gives the length, at most room.
static size_t read_block(uint64_t block, uint8_t *to, size_t room) {
	size_t n = extism_length(block), i = 0;
	if (n > room)
		n = room;
	for (; i + 8 <= n; i += 8) {
		uint64_t word = extism_load_u64(block + i);
		memcpy(to + i, &word, 8);
	}
	for (; i < n; i++)
		to[i] = (uint8_t)extism_load_u8(block + i);
	return n;
}

// read_input gives the length, at most room.
static size_t read_input(uint8_t *to, size_t room) {
	size_t n = extism_input_length(), i = 0;
	if (n > room)
		n = room;
	for (; i + 8 <= n; i += 8) {
		uint64_t word = extism_input_load_u64(i);
		memcpy(to + i, &word, 8);
	}
	for (; i < n; i++)
		to[i] = (uint8_t)extism_input_load_u8(i);
	return n;
}

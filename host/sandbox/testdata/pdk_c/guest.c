// A guest in C over Extism's functions. It does what testdata/pdk_as does.
#include "extism.h"

#define EXPORT(name) __attribute__((export_name(name))) int32_t
enum { ROOM = 200 * 1024 };
static uint8_t input[ROOM];

static struct {
	char bytes[4096];
	size_t length;
} text;

static void add_bytes(const void *bytes, size_t n) {
	if (n > sizeof text.bytes - text.length)
		n = sizeof text.bytes - text.length;
	memcpy(text.bytes + text.length, bytes, n);
	text.length += n;
}

static void add(const char *s) { add_bytes(s, strlen(s)); }

static void add_block(uint64_t block) {
	static uint8_t bytes[1024];
	size_t n = block == 0 ? 0 : read_block(block, bytes, sizeof bytes);
	if (n == 0)
		add("nothing");
	add_bytes(bytes, n);
}

static void put_out(const void *bytes, size_t n) { extism_output_set(block_of(bytes, n), n); }

EXPORT("echo") echo(void) {
	size_t n = read_input(input, ROOM);
	put_out(input, n);
	return 0;
}

EXPORT("text") text_of_input(void) {
	add("shelf ");
	add_bytes(input, read_input(input, ROOM));
	put_out(text.bytes, text.length);
	return 0;
}

EXPORT("fail") fail(void) {
	put_out("half of it", 10);
	extism_error_set(block_of_text("the shelf 货架 is empty"));
	return 3;
}

EXPORT("logs") logs(void) {
	extism_log_debug(block_of_text("debug text"));
	extism_log_info(block_of_text("info 信息"));
	extism_log_warn(block_of_text(""));
	extism_log_error(block_of(input, read_input(input, ROOM)));
	return 0;
}

EXPORT("config") config(void) {
	static const char *keys[] = {"shop", "empty", "missing", ""};
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		add(keys[i]);
		add("=");
		add_block(extism_config_get(block_of_text(keys[i])));
		add(";");
	}
	put_out(text.bytes, text.length);
	return 0;
}

EXPORT("vars") vars(void) {
	add_block(extism_var_get(block_of_text("stock")));
	add(";");
	extism_var_set(block_of_text("stock"), block_of_text("17"));
	extism_var_set(block_of_text("stock"), block_of(input, read_input(input, ROOM)));
	extism_var_set(block_of_text("gone"), block_of_text("x"));
	extism_var_set(block_of_text("gone"), 0);
	add_block(extism_var_get(block_of_text("stock")));
	add(";");
	add_block(extism_var_get(block_of_text("gone")));
	add(";");
	add_block(extism_var_get(block_of_text("never")));
	put_out(text.bytes, text.length);
	return 0;
}

EXPORT("fetch") fetch(void) {
	uint64_t request = block_of(input, read_input(input, ROOM));
	uint64_t answer = extism_http_request(request, block_of_text("the body 正文"));
	extism_output_set(answer, extism_length(answer));
	return 0;
}

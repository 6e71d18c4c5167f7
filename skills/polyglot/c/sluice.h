// sluice.h is what a skill in C needs of Sluice, over any libc. Lay it and
// sluice_json.h beside your skill.
//
//	#include "sluice.h"
//
//	SLUICE_MANIFEST("manifest.json")
//
//	static void greet(sluice_call *call) {
//		sluice_text name = sluice_arg_text(call, "name");
//		sluice_object(&call->data);
//		sluice_put_text(&call->data, "greeting", SLUICE_JOIN(SLUICE_TEXT("hello "), name));
//		sluice_close(&call->data);
//	}
//
//	SLUICE_TOOLS({"greet", greet})
//
// A call that failed stays failed: the first refusal is its answer, and what is
// done afterwards has no effect on the store. So a handler may go on for a few
// lines and ask sluice_failed once.
//
// Every call begins with the memory that the module had when it was loaded and
// ends by throwing its own away. So nothing is ever freed, and global variables
// are as they were.
//
// Life of an invocation
//  1. sluice_invoke copies the input in and proves that it is JSON, nested no
//     deeper than SLUICE_DEPTH.
//  2. The tool is found by its name and run.
//  3. The data that it wrote, or the first problem, becomes the output.
#ifndef SLUICE_H
#define SLUICE_H

#include <stdarg.h>

#include "sluice_json.h"

#define SLUICE_VERSION 1 // of the contract

// Problems that a skill answers with; its own are from SLUICE_SKILL on.
enum {
	SLUICE_REFUSED = 3000,
	SLUICE_OUT_OF_BOUNDS = 3001,
	SLUICE_NOT_ALLOWED = 3002,
	SLUICE_CONFLICT = 3003,
	SLUICE_NOT_FOUND = 3004,
	SLUICE_SKILL = 3100,
	SLUICE_BAD_ARGUMENTS = 4000,
	SLUICE_NOT_JSON = 4001,
	SLUICE_WRONG_TYPE = 4002,
	SLUICE_UNKNOWN_TOOL = 4004,
	SLUICE_BAD_VALUE = 4007,
	SLUICE_UNKNOWN_FIELD = 4008,
	SLUICE_SYSTEM_FAILURE = 5000,
	SLUICE_UNAVAILABLE = 5002,
	SLUICE_TRAP = 9001,
};

// ---- The host ----

#define SLUICE_ENV(name) __attribute__((import_module("extism:host/env"), import_name(name)))
#define SLUICE_HOST(name) __attribute__((import_module("extism:host/user"), import_name(name)))
SLUICE_ENV("input_length") uint64_t sluice_env_input_length(void);
SLUICE_ENV("input_offset") uint64_t sluice_env_input_offset(void);
SLUICE_ENV("alloc") uint64_t sluice_env_alloc(uint64_t size);
SLUICE_ENV("free") void sluice_env_free(uint64_t at);
SLUICE_ENV("length") uint64_t sluice_env_length(uint64_t at);
SLUICE_ENV("output_set") void sluice_env_output_set(uint64_t at, uint64_t length);
SLUICE_ENV("log_info") void sluice_env_log_info(uint64_t at);
SLUICE_HOST("sluice_block_read") void sluice_host_block_read(uint64_t at, char *to, size_t length);
SLUICE_HOST("sluice_block_write") void sluice_host_block_write(uint64_t at, const char *from, size_t length);
SLUICE_HOST("sluice_kv_get") int64_t sluice_host_kv_get(uint64_t key);
SLUICE_HOST("sluice_kv_put") int64_t sluice_host_kv_put(uint64_t key, uint64_t value);
SLUICE_HOST("sluice_kv_delete") int64_t sluice_host_kv_delete(uint64_t key);
SLUICE_HOST("sluice_kv_scan") int64_t sluice_host_kv_scan(uint64_t query);

// Blocks lie in a memory of the host, which copies them whole. Texts that come
// from the host end with a NUL that is not part of them.
static inline uint64_t sluice_block(sluice_text t) {
	uint64_t at = sluice_env_alloc(t.length);
	sluice_host_block_write(at, t.at, t.length);
	return at;
}

static inline sluice_text sluice_copy(uint64_t block, size_t length) {
	char *at = sluice_alloc(length + 1);
	sluice_host_block_read(block, at, length);
	at[length] = 0;
	return (sluice_text){at, length};
}

static inline sluice_text sluice_take(uint64_t block) {
	sluice_text t = sluice_copy(block, sluice_env_length(block));
	sluice_env_free(block);
	return t;
}

static inline sluice_text sluice_input(void) { return sluice_copy(sluice_env_input_offset(), sluice_env_input_length()); }

static inline void sluice_output(sluice_text t) { sluice_env_output_set(sluice_block(t), t.length); }

// ---- A call ----

// A sluice_call is the call that a handler serves.
typedef struct {
	sluice_value abi, tool, args, call, state_read; // of the invocation
	sluice_json data;     // write the tool's data here: one JSON value
	sluice_json state;    // and here, if at all, a merge patch of state keys as one object
	sluice_text preview;  // and here, if at all, one line for the model
	sluice_json problem;  // the first one; see sluice_refuse
} sluice_call;

static inline bool sluice_failed(const sluice_call *call) { return call->problem.length > 0; }

// sluice_refuse ends the call with a problem. The model reads the message: say
// what is wrong. field names the argument that it is about; candidates are
// values that would do, as a list that is written; each may be {0}.
static inline void sluice_refuse_with(sluice_call *call, int code, sluice_text field, sluice_text message, sluice_text hint, sluice_text candidates) {
	if (sluice_failed(call))
		return;
	sluice_json *p = &call->problem;
	sluice_object(p);
	sluice_put_int(p, "code", code);
	sluice_put_text(p, "message", message);
	if (field.length > 0)
		sluice_put_text(p, "field", field);
	if (hint.length > 0)
		sluice_put_text(p, "hint", hint);
	if (candidates.length > 0)
		sluice_put_raw(p, "candidates", candidates);
	sluice_close(p);
}

static inline void sluice_refuse(sluice_call *call, int code, const char *field, sluice_text message) {
	sluice_refuse_with(call, code, sluice_c_text(field), message, (sluice_text){0}, (sluice_text){0});
}

// sluice_log writes one line for operators; the model never sees it.
static inline void sluice_log(sluice_text line) {
	uint64_t at = sluice_block(line);
	sluice_env_log_info(at);
	sluice_env_free(at);
}

static inline void sluice_wrong_type(sluice_call *call, const char *field, const char *want, sluice_value got) {
	sluice_text kind = *got.at == '"' ? SLUICE_TEXT("string") : *got.at == '{' ? SLUICE_TEXT("object") : *got.at == '[' ? SLUICE_TEXT("array")
		: *got.at == 't' || *got.at == 'f' ? SLUICE_TEXT("bool") : SLUICE_TEXT("number");
	sluice_refuse(call, SLUICE_WRONG_TYPE, field, SLUICE_JOIN(SLUICE_TEXT("must be of type "), sluice_c_text(want), SLUICE_TEXT(", not "), kind));
}

// sluice_arg_text reads an argument; one that is left out is the empty text.
// The host has checked arguments against the manifest's schema before.
static inline sluice_text sluice_arg_text(sluice_call *call, const char *name) {
	sluice_value v = sluice_member(call->args, name);
	sluice_text t = sluice_text_of(v);
	if (t.at == NULL && !sluice_is_null(v))
		sluice_wrong_type(call, name, "string", v);
	return t;
}

// sluice_arg_int reads an argument; one that is left out is the default.
static inline int64_t sluice_arg_int(sluice_call *call, const char *name, int64_t standard) {
	sluice_value v = sluice_member(call->args, name);
	int64_t n = standard;
	if (!sluice_is_null(v) && !sluice_int_of(v, &n))
		sluice_wrong_type(call, name, "integer", v);
	return n;
}

// sluice_args_are refuses arguments of other names than those given, which end
// with NULL.
static inline void sluice_args_are(sluice_call *call, ...) {
	for (sluice_cursor c = {.of = call->args}; sluice_each(&c);) {
		va_list names;
		va_start(names, call);
		const char *name;
		while ((name = va_arg(names, const char *)) != NULL && !sluice_equal(c.name, sluice_c_text(name)))
			;
		va_end(names);
		sluice_json quoted = {0};
		sluice_quote(&quoted, c.name);
		if (name == NULL)
			sluice_refuse_with(call, SLUICE_UNKNOWN_FIELD, c.name, SLUICE_JOIN(SLUICE_TEXT("there is no argument "), sluice_written(&quoted)), (sluice_text){0}, (sluice_text){0});
	}
}

// sluice_now gives the host's clock at the call's start, as RFC 3339 in UTC.
static inline sluice_text sluice_now(sluice_call *call) { return sluice_text_of(sluice_member(call->call, "now")); }

// sluice_state gives a key of the session state that the manifest may read.
static inline sluice_value sluice_state(sluice_call *call, const char *key) { return sluice_member(call->state_read, key); }

// sluice_other_form is how a record that cannot be used ends a call.
static inline void sluice_other_form(sluice_call *call, sluice_text what) {
	sluice_refuse(call, SLUICE_SYSTEM_FAILURE, "", SLUICE_JOIN(what, SLUICE_TEXT(" has another form than this skill reads")));
}

// sluice_pass_on ends the call with the host's own problem. A code that is not
// a skill's to give becomes a passing failure of the system.
static inline void sluice_pass_on(sluice_call *call, sluice_text problem) {
	bool found;
	sluice_value p = sluice_parse(problem, &found);
	int64_t code = 0;
	if (!sluice_int_of(sluice_member(p, "code"), &code))
		sluice_refuse(call, SLUICE_SYSTEM_FAILURE, "", SLUICE_TEXT("the host refused without saying why"));
	else if ((code >= 3000 && code < 5000) || (code >= SLUICE_SYSTEM_FAILURE && code <= SLUICE_UNAVAILABLE) || code == SLUICE_TRAP) {
		if (!sluice_failed(call))
			sluice_raw_text(&call->problem, problem);
	} else
		sluice_refuse_with(call, SLUICE_SYSTEM_FAILURE, (sluice_text){0}, sluice_text_of(sluice_member(p, "message")), sluice_text_of(sluice_member(p, "hint")), (sluice_text){0});
}

// sluice_result reads what a host function gave: found is false where there is
// nothing, and where the call failed.
static inline sluice_text sluice_result(sluice_call *call, int64_t result, bool *found) {
	*found = result > 0;
	if (result < 0)
		sluice_pass_on(call, sluice_take((uint64_t)-result));
	return result > 0 ? sluice_take((uint64_t)result) : (sluice_text){0};
}

// sluice_kv_get reads a value of the skill's namespace.
static inline sluice_text sluice_kv_get(sluice_call *call, sluice_text key, bool *found) {
	*found = false;
	return sluice_failed(call) ? (sluice_text){0} : sluice_result(call, sluice_host_kv_get(sluice_block(key)), found);
}

// sluice_kv_get_json reads a value that must be a JSON object.
static inline sluice_value sluice_kv_get_json(sluice_call *call, sluice_text key, bool *found) {
	sluice_text text = sluice_kv_get(call, key, found);
	bool json = false;
	sluice_value v = {NULL, NULL};
	if (*found)
		v = sluice_parse(text, &json);
	if (*found && !sluice_is_object(v)) {
		sluice_json quoted = {0};
		sluice_quote(&quoted, key);
		sluice_other_form(call, SLUICE_JOIN(SLUICE_TEXT("the value of key "), sluice_written(&quoted)));
		*found = false;
	}
	return v;
}

// sluice_kv_put writes a value; nothing of a call that fails is kept.
static inline void sluice_kv_put(sluice_call *call, sluice_text key, sluice_text value) {
	bool found;
	if (!sluice_failed(call))
		sluice_result(call, sluice_host_kv_put(sluice_block(key), sluice_block(value)), &found);
}

static inline void sluice_kv_delete(sluice_call *call, sluice_text key) {
	bool found;
	if (!sluice_failed(call))
		sluice_result(call, sluice_host_kv_delete(sluice_block(key)), &found);
}

// A sluice_scan ranges over the keys with a prefix, in the order of their
// bytes; begin it with {prefix}, and bound a page by limit where few are wanted.
typedef struct {
	sluice_text prefix;
	int limit;                 // entries of a page; 0 is as many as the host gives
	bool keys_only, last;      // last: there is no further page
	uint32_t left;             // entries of this page
	const char *at, *end;      // what is left of it
	sluice_text key, value;
} sluice_scan;

// sluice_cut takes the next part off a page. Where the page ends before that, it
// gives false.
static inline bool sluice_cut(sluice_scan *s, sluice_text *part) {
	uint32_t n;
	if (s->end - s->at < 4)
		return false;
	memcpy(&n, s->at, 4);
	if (n > (size_t)(s->end - s->at - 4))
		return false;
	*part = (sluice_text){s->at + 4, n};
	s->at += 4 + n;
	return true;
}

// sluice_check_page sees that a page has the entries that it says, and ends the call
// where it has not: no host of this contract writes such a page, but another might.
static inline bool sluice_check_page(sluice_call *call, sluice_scan *s) {
	const char *first = s->at;
	uint32_t whole = 0;
	while (whole < s->left && sluice_cut(s, &s->key) && sluice_cut(s, &s->value))
		whole++;
	s->last = s->at == s->end; // behind the entries stands where the next page begins
	if (whole < s->left || (s->left == 0 && !s->last)) {
		s->left = 0;
		sluice_other_form(call, SLUICE_TEXT("a page of the store"));
		return false;
	}
	s->at = first;
	return true;
}

static inline bool sluice_scan_page(sluice_call *call, sluice_scan *s) {
	sluice_json query = {0};
	sluice_object(&query);
	sluice_put_text(&query, "prefix", s->prefix);
	if (s->end > s->at)
		sluice_put_text(&query, "after", (sluice_text){s->at, (size_t)(s->end - s->at)});
	if (s->limit > 0)
		sluice_put_int(&query, "limit", s->limit);
	if (s->keys_only)
		sluice_put_raw(&query, "keys_only", SLUICE_TEXT("true"));
	sluice_close(&query);
	bool found;
	sluice_text page = sluice_result(call, sluice_host_kv_scan(sluice_block(sluice_written(&query))), &found);
	if (!found)
		return false;
	s->left = 0, s->at = page.at, s->end = page.at + page.length;
	if (page.length >= 4)
		memcpy(&s->left, page.at, 4), s->at += 4;
	return sluice_check_page(call, s);
}

// sluice_kv_next goes on to the next entry; at the end, and when the call has
// failed, it gives false.
static inline bool sluice_kv_next(sluice_call *call, sluice_scan *s) {
	while (s->left == 0)
		if (sluice_failed(call) || s->last || !sluice_scan_page(call, s))
			return false;
	s->left--;
	sluice_cut(s, &s->key), sluice_cut(s, &s->value);
	return !sluice_failed(call);
}

// ---- The exports ----

typedef struct {
	const char *name;
	void (*serve)(sluice_call *);
} sluice_tool;

// SLUICE_MANIFEST lays a file with the manifest as JSON into the module.
#define SLUICE_MANIFEST(file) \
	__asm__(".section .rodata.sluice_manifest,\"\",@\n" \
		".globl sluice_manifest\nsluice_manifest:\n.incbin \"" file "\"\n.Lsluice_manifest_end:\n.size sluice_manifest, .Lsluice_manifest_end-sluice_manifest\n" \
		".globl sluice_manifest_length\nsluice_manifest_length:\n.int32 .Lsluice_manifest_end-sluice_manifest\n.size sluice_manifest_length, 4\n")
extern const char sluice_manifest[];
extern const uint32_t sluice_manifest_length;

static inline sluice_text sluice_manifest_text(void) { return (sluice_text){sluice_manifest, sluice_manifest_length}; }

static inline void sluice_unknown_tool(sluice_call *call, sluice_text name) {
	bool found;
	sluice_text skill = sluice_text_of(sluice_member(sluice_parse(sluice_manifest_text(), &found), "name"));
	sluice_json quoted = {0};
	sluice_quote(&quoted, name);
	sluice_refuse(call, SLUICE_UNKNOWN_TOOL, "", SLUICE_JOIN(skill, SLUICE_TEXT(" has no tool "), sluice_written(&quoted)));
}

// sluice_read_invocation finds the parts of an invocation in one walk.
static inline void sluice_read_invocation(sluice_call *call, sluice_value invocation) {
	const struct {
		const char *name;
		sluice_value *part;
	} parts[] = {{"abi", &call->abi}, {"tool", &call->tool}, {"args", &call->args}, {"call", &call->call}, {"state", &call->state_read}};
	for (sluice_cursor c = {.of = invocation}; sluice_each(&c);)
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
			if (sluice_equal(c.name, sluice_c_text(parts[i].name)))
				*parts[i].part = c.value;
}

static inline void sluice_run(sluice_call *call, const sluice_tool *tools, size_t count) {
	bool found;
	int64_t version = 0;
	sluice_value invocation = sluice_parse(sluice_input(), &found);
	if (!sluice_is_object(invocation)) {
		sluice_refuse(call, SLUICE_NOT_JSON, "", SLUICE_TEXT("the invocation is not an envelope that this skill reads"));
		return;
	}
	sluice_read_invocation(call, invocation);
	if (!sluice_int_of(call->abi, &version) || version != SLUICE_VERSION) {
		sluice_refuse(call, SLUICE_BAD_ARGUMENTS, "", SLUICE_JOIN(SLUICE_TEXT("the invocation has version "), sluice_decimal(version),
			SLUICE_TEXT(" of the contract; this skill speaks version "), sluice_decimal(SLUICE_VERSION)));
		return;
	}
	sluice_text name = sluice_text_of(call->tool);
	for (size_t i = 0; i < count; i++)
		if (sluice_equal(name, sluice_c_text(tools[i].name))) {
			tools[i].serve(call);
			return;
		}
	sluice_unknown_tool(call, name);
}

static inline int32_t sluice_serve(const sluice_tool *tools, size_t count) {
	sluice_call call = {0};
	sluice_run(&call, tools, count);
	sluice_json reply = {0};
	sluice_object(&reply);
	sluice_put_raw(&reply, "ok", sluice_failed(&call) ? SLUICE_TEXT("false") : SLUICE_TEXT("true"));
	if (sluice_failed(&call)) {
		sluice_put_raw(&reply, "problem", sluice_written(&call.problem));
	} else {
		sluice_put_raw(&reply, "data", call.data.length > 0 ? sluice_written(&call.data) : SLUICE_TEXT("null"));
		if (call.state.length > 0)
			sluice_put_raw(&reply, "state", sluice_written(&call.state));
		if (call.preview.length > 0)
			sluice_put_text(&reply, "preview", call.preview);
	}
	sluice_close(&reply);
	sluice_output(sluice_written(&reply));
	return 0;
}

// SLUICE_TOOLS makes the module's exports: each tool is {"name", handler}. It
// stands once in a skill.
#define SLUICE_TOOLS(...) \
	__attribute__((export_name("sluice_abi"))) int32_t sluice_abi(void) { return SLUICE_VERSION; } \
	__attribute__((export_name("sluice_describe"))) int32_t sluice_describe(void) { return sluice_output(sluice_manifest_text()), 0; } \
	__attribute__((export_name("sluice_invoke"))) int32_t sluice_invoke(void) { \
		static const sluice_tool tools[] = {__VA_ARGS__}; \
		return sluice_serve(tools, sizeof tools / sizeof *tools); \
	}

#endif

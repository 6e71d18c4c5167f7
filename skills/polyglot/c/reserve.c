// The skill shop.reserve in C. It does what ../go does, to the byte.
#include "sluice.h"

#include <math.h>

SLUICE_MANIFEST("manifest.json");

enum { SOLD_OUT = SLUICE_SKILL + 1, MAX_NEAR = 3, MAX_PRICE = 1000000 };

typedef struct {
	sluice_text title;
	int64_t cents, stock;
} product;

typedef struct {
	sluice_text buyer, note, at;
	int64_t pieces;
} hold;

static sluice_text hold_key(sluice_text sku, sluice_text buyer) { return SLUICE_JOIN(SLUICE_TEXT("hold/"), sku, SLUICE_TEXT("/"), buyer); }

// member_text and member_int read a member of a record; one that is not there
// is empty. They give false for a value of another type.
static bool member_text(sluice_value record, const char *name, sluice_text *into) {
	sluice_value v = sluice_member(record, name);
	*into = sluice_text_of(v);
	return sluice_is_null(v) || into->at != NULL;
}

static bool member_int(sluice_value record, const char *name, int64_t *into) {
	sluice_value v = sluice_member(record, name);
	*into = 0;
	return sluice_is_null(v) || sluice_int_of(v, into);
}

static void other_form(sluice_call *call, sluice_text key) {
	sluice_other_form(call, SLUICE_JOIN(SLUICE_TEXT("the value of key \""), key, SLUICE_TEXT("\"")));
}

static hold read_hold(sluice_call *call, sluice_text key, sluice_value record) {
	hold h;
	bool fits = sluice_is_object(record);
	fits = member_text(record, "buyer", &h.buyer) && fits;
	fits = member_int(record, "pieces", &h.pieces) && fits;
	fits = member_text(record, "note", &h.note) && fits;
	fits = member_text(record, "at", &h.at) && fits;
	if (!fits)
		other_form(call, key);
	return h;
}

static void write_hold(sluice_json *to, hold h) {
	sluice_object(to);
	sluice_put_text(to, "buyer", h.buyer);
	sluice_put_int(to, "pieces", h.pieces);
	if (h.note.length > 0)
		sluice_put_text(to, "note", h.note);
	sluice_put_text(to, "at", h.at);
	sluice_close(to);
}

// next_hold goes on to the next hold of a product.
static bool next_hold(sluice_call *call, sluice_scan *scan, hold *h) {
	if (!sluice_kv_next(call, scan))
		return false;
	bool found;
	*h = read_hold(call, scan->key, sluice_parse(scan->value, &found));
	return !sluice_failed(call);
}

static product load(sluice_call *call, sluice_text sku) {
	product p = {0};
	bool found;
	double price = 0;
	sluice_text key = SLUICE_JOIN(SLUICE_TEXT("product/"), sku);
	sluice_value record = sluice_kv_get_json(call, key, &found);
	if (!found) {
		sluice_refuse_with(call, SLUICE_NOT_FOUND, SLUICE_TEXT("sku"), SLUICE_JOIN(SLUICE_TEXT("there is no product "), sku),
			SLUICE_TEXT("Look it up by words of its title first."), (sluice_text){0});
		return p;
	}
	sluice_value v = sluice_member(record, "price");
	bool fits = sluice_is_null(v) || sluice_number_of(v, &price);
	fits = member_text(record, "title", &p.title) && fits;
	fits = member_int(record, "stock", &p.stock) && fits;
	if (!fits)
		other_form(call, key);
	else if (!(price >= 0 && price <= MAX_PRICE))
		sluice_refuse(call, SLUICE_UNAVAILABLE, "", SLUICE_JOIN(SLUICE_TEXT("the price of "), sku, SLUICE_TEXT(" cannot be right")));
	else
		p.cents = (int64_t)round(price * 100);
	return p;
}

static void one_line(sluice_call *call, const char *field, sluice_text text) {
	for (size_t i = 0; i < text.length; i++)
		if ((unsigned char)text.at[i] < ' ')
			sluice_refuse(call, SLUICE_BAD_VALUE, field, SLUICE_JOIN(SLUICE_TEXT("the "), sluice_c_text(field), SLUICE_TEXT(" must be one line of text")));
}

static sluice_text one_candidate(sluice_text candidate) {
	sluice_json list = {0};
	sluice_list(&list);
	sluice_quote(&list, candidate);
	sluice_close_list(&list);
	return sluice_written(&list);
}

// refuse_too_many ends a call that asks for more than can be had: of what is
// left without what others hold, and of what the live show allows.
static void refuse_too_many(sluice_call *call, product p, sluice_text sku, int64_t pieces, int64_t left) {
	int64_t most = 0;
	sluice_text title = SLUICE_JOIN(sku, SLUICE_TEXT(" ("), p.title, SLUICE_TEXT(")"));
	sluice_value state = sluice_state(call, "live.most");
	if (!sluice_is_null(state) && !sluice_int_of(state, &most))
		sluice_other_form(call, SLUICE_TEXT("state live.most"));
	if (left <= 0)
		sluice_refuse_with(call, SOLD_OUT, SLUICE_TEXT("sku"), SLUICE_JOIN(title, SLUICE_TEXT(" is sold out")), SLUICE_TEXT("Offer another product."), (sluice_text){0});
	else if (pieces > left)
		sluice_refuse_with(call, SOLD_OUT, SLUICE_TEXT("pieces"), SLUICE_JOIN(SLUICE_TEXT("only "), sluice_decimal(left), SLUICE_TEXT(" of "), title, SLUICE_TEXT(" are left")),
			SLUICE_TEXT("Offer what is left, or another product."), one_candidate(sluice_decimal(left)));
	else if (most > 0 && pieces > most)
		sluice_refuse_with(call, SLUICE_OUT_OF_BOUNDS, SLUICE_TEXT("pieces"),
			SLUICE_JOIN(SLUICE_TEXT("one buyer may reserve at most "), sluice_decimal(most), SLUICE_TEXT(" pieces in this live show")),
			(sluice_text){0}, one_candidate(sluice_decimal(most)));
}

// amount writes cents as a number with as many decimals as it needs.
static sluice_text amount(int64_t cents) {
	sluice_text whole = sluice_decimal(cents / 100);
	if (cents % 100 == 0)
		return whole;
	sluice_text tenths = SLUICE_JOIN(whole, SLUICE_TEXT("."), sluice_decimal(cents / 10 % 10));
	return cents % 10 == 0 ? tenths : SLUICE_JOIN(tenths, sluice_decimal(cents % 10));
}

static void write_reserved(sluice_call *call, product p, sluice_text sku, hold h, int64_t left) {
	sluice_object(&call->data);
	sluice_put_text(&call->data, "sku", sku);
	sluice_put_text(&call->data, "title", p.title);
	sluice_put_text(&call->data, "buyer", h.buyer);
	sluice_put_int(&call->data, "pieces", h.pieces);
	sluice_put_int(&call->data, "left", left);
	sluice_put_raw(&call->data, "total", amount(p.cents * h.pieces));
	sluice_close(&call->data);

	sluice_object(&call->state);
	sluice_name(&call->state, "live.reserved");
	sluice_object(&call->state);
	sluice_put_text(&call->state, "sku", sku);
	sluice_put_text(&call->state, "buyer", h.buyer);
	sluice_close(&call->state);
	sluice_close(&call->state);

	call->preview = SLUICE_JOIN(h.buyer, SLUICE_TEXT(" holds "), sluice_decimal(h.pieces), SLUICE_TEXT(" of "), sku, SLUICE_TEXT(" ("), p.title,
		SLUICE_TEXT("); "), sluice_decimal(left), SLUICE_TEXT(" left."));
}

static void reserve(sluice_call *call) {
	sluice_args_are(call, "sku", "buyer", "pieces", "note", NULL);
	sluice_text sku = sluice_arg_text(call, "sku");
	hold other, h = {.buyer = sluice_arg_text(call, "buyer"), .note = sluice_arg_text(call, "note"), .pieces = sluice_arg_int(call, "pieces", 0), .at = sluice_now(call)};
	one_line(call, "buyer", h.buyer);
	one_line(call, "note", h.note);
	product p = load(call, sku);

	int64_t left = p.stock;
	for (sluice_scan scan = {.prefix = hold_key(sku, SLUICE_TEXT(""))}; next_hold(call, &scan, &other);)
		if (!sluice_equal(other.buyer, h.buyer))
			left -= other.pieces;
	refuse_too_many(call, p, sku, h.pieces, left);
	left -= h.pieces;

	sluice_json record = {0};
	write_hold(&record, h);
	sluice_kv_put(call, hold_key(sku, h.buyer), sluice_written(&record));
	if (sluice_failed(call))
		return;
	sluice_log(SLUICE_JOIN(SLUICE_TEXT("reserve "), sku, SLUICE_TEXT(": "), sluice_decimal(h.pieces), SLUICE_TEXT(" for "), h.buyer, SLUICE_TEXT(", "),
		sluice_decimal(left), SLUICE_TEXT(" left")));
	write_reserved(call, p, sku, h, left);
}

// refuse_nothing ends a call about a buyer without a hold, and names the first
// who have one.
static void refuse_nothing(sluice_call *call, sluice_text sku, sluice_text buyer) {
	sluice_scan scan = {.prefix = hold_key(sku, SLUICE_TEXT("")), .limit = MAX_NEAR, .keys_only = true};
	sluice_json list = {0};
	sluice_list(&list);
	int near = 0;
	for (; near < MAX_NEAR && sluice_kv_next(call, &scan); near++) {
		sluice_next(&list);
		sluice_quote(&list, (sluice_text){scan.key.at + scan.prefix.length, scan.key.length - scan.prefix.length});
	}
	sluice_close_list(&list);
	sluice_refuse_with(call, SLUICE_NOT_FOUND, SLUICE_TEXT("buyer"), SLUICE_JOIN(buyer, SLUICE_TEXT(" holds nothing of "), sku), (sluice_text){0},
		near > 0 ? sluice_written(&list) : (sluice_text){0});
}

static void release(sluice_call *call) {
	sluice_args_are(call, "sku", "buyer", NULL);
	sluice_text sku = sluice_arg_text(call, "sku"), buyer = sluice_arg_text(call, "buyer"), key = hold_key(sku, buyer);
	bool found;
	sluice_value record = sluice_kv_get_json(call, key, &found);
	if (!found) {
		refuse_nothing(call, sku, buyer);
		return;
	}
	hold h = read_hold(call, key, record);
	sluice_kv_delete(call, key);
	if (sluice_failed(call))
		return;
	sluice_log(SLUICE_JOIN(SLUICE_TEXT("release "), sku, SLUICE_TEXT(": "), sluice_decimal(h.pieces), SLUICE_TEXT(" of "), buyer));
	sluice_object(&call->data);
	sluice_put_text(&call->data, "sku", sku);
	sluice_put_text(&call->data, "buyer", buyer);
	sluice_put_int(&call->data, "pieces", h.pieces);
	sluice_close(&call->data);
}

static void holds(sluice_call *call) {
	sluice_args_are(call, "sku", "most", NULL);
	sluice_text sku = sluice_arg_text(call, "sku");
	int64_t most = sluice_arg_int(call, "most", 20), buyers = 0, pieces = 0;
	sluice_json list = {0};
	sluice_list(&list);
	hold h;
	for (sluice_scan scan = {.prefix = hold_key(sku, SLUICE_TEXT(""))}; next_hold(call, &scan, &h); buyers++) {
		pieces += h.pieces;
		if (buyers < most)
			write_hold(&list, h);
	}
	sluice_close_list(&list);
	sluice_object(&call->data);
	sluice_put_text(&call->data, "sku", sku);
	sluice_put_int(&call->data, "buyers", buyers);
	sluice_put_int(&call->data, "pieces", pieces);
	sluice_put_raw(&call->data, "holds", sluice_written(&list));
	sluice_close(&call->data);
}

SLUICE_TOOLS({"reserve", reserve}, {"release", release}, {"holds", holds})

//! The skill shop.reserve in Rust. It does what ../go does, to the byte.

mod sluice;

use serde_json::Value;
use sluice::{code, kv, log, object, quote, Answer, Call, Data, Json, Problem};

const SOLD_OUT: i64 = code::SKILL + 1;
const MAX_NEAR: i64 = 3;
const MAX_PRICE: f64 = 1_000_000.0;

skill!("../manifest.json", [("reserve", reserve), ("release", release), ("holds", holds)]);

struct Product {
    title: String,
    cents: i64,
    stock: i64,
}

struct Hold {
    buyer: String,
    pieces: i64,
    note: String,
    at: String,
}

impl Hold {
    fn parse(key: &str, value: &[u8]) -> Result<Hold, Problem> {
        let record = kv::parse(key, value)?;
        let read = || Some(Hold { buyer: text(&record, "buyer")?, pieces: int(&record, "pieces")?, note: text(&record, "note")?, at: text(&record, "at")? });
        read().ok_or_else(|| other_form(key))
    }

    fn json(&self) -> String {
        let mut members = vec![("buyer", self.buyer.as_str().into()), ("pieces", self.pieces.into())];
        if !self.note.is_empty() {
            members.push(("note", self.note.as_str().into()));
        }
        members.push(("at", self.at.as_str().into()));
        object(members)
    }
}

/// Reads a member of a record; one that is not there is empty, one of another
/// type is none.
fn text(record: &Value, name: &str) -> Option<String> {
    match &record[name] {
        Value::Null => Some(String::new()),
        v => v.as_str().map(String::from),
    }
}

fn int(record: &Value, name: &str) -> Option<i64> {
    match &record[name] {
        Value::Null => Some(0),
        v => v.as_i64(),
    }
}

fn number(record: &Value, name: &str) -> Option<f64> {
    match &record[name] {
        Value::Null => Some(0.0),
        v => v.as_f64(),
    }
}

fn other_form(key: &str) -> Problem {
    Problem::other_form(&format!("the value of key {}", quote(key)))
}

fn hold_key(sku: &str, buyer: &str) -> String {
    format!("hold/{sku}/{buyer}")
}

fn reserve(call: &Call) -> Answer {
    call.only(&["sku", "buyer", "pieces", "note"])?;
    let sku = call.text("sku")?;
    let hold = Hold { buyer: call.text("buyer")?.into(), pieces: call.int("pieces", 0)?, note: call.text("note")?.into(), at: call.now().into() };
    one_line("buyer", &hold.buyer)?;
    one_line("note", &hold.note)?;
    let product = load(sku)?;
    let left = left_for(call, sku, &product, &hold)?;
    kv::put(&hold_key(sku, &hold.buyer), &hold.json())?;

    let (buyer, pieces, title) = (hold.buyer.as_str(), hold.pieces, product.title.as_str());
    log(&format!("reserve {sku}: {pieces} for {buyer}, {left} left"));
    Ok(Data {
        data: object([
            ("sku", sku.into()),
            ("title", title.into()),
            ("buyer", buyer.into()),
            ("pieces", pieces.into()),
            ("left", left.into()),
            ("total", amount(product.cents * pieces)),
        ]),
        state: object([("live.reserved", Json(object([("sku", sku.into()), ("buyer", buyer.into())])))]),
        preview: format!("{buyer} holds {pieces} of {sku} ({title}); {left} left."),
    })
}

/// Refuses a text of several lines, or with other control characters.
fn one_line(field: &str, text: &str) -> Result<(), Problem> {
    if text.bytes().any(|b| b < b' ') {
        return Err(Problem::new(code::BAD_VALUE, format!("the {field} must be one line of text")).field(field));
    }
    Ok(())
}

fn load(sku: &str) -> Result<Product, Problem> {
    let key = format!("product/{sku}");
    let record = kv::get_json(&key)?.ok_or_else(|| {
        Problem::new(code::NOT_FOUND, format!("there is no product {sku}")).field("sku").hint("Look it up by words of its title first.")
    })?;
    let read = || Some((text(&record, "title")?, number(&record, "price")?, int(&record, "stock")?));
    let (title, price, stock) = read().ok_or_else(|| other_form(&key))?;
    if !(0.0..=MAX_PRICE).contains(&price) {
        return Err(Problem::new(code::UNAVAILABLE, format!("the price of {sku} cannot be right")));
    }
    Ok(Product { title, stock, cents: (price * 100.0).round() as i64 })
}

/// Gives what is left of a product once the wish is granted, or the reason why
/// it is not.
fn left_for(call: &Call, sku: &str, product: &Product, wish: &Hold) -> Result<i64, Problem> {
    let mut left = product.stock;
    kv::each(&hold_key(sku, ""), |key, value| {
        let hold = Hold::parse(key, value)?;
        if hold.buyer != wish.buyer {
            left -= hold.pieces;
        }
        Ok(())
    })?;
    let most = match call.state("live.most") {
        Value::Null => 0,
        v => v.as_i64().ok_or_else(|| Problem::other_form("state live.most"))?,
    };
    let title = format!("{sku} ({})", product.title);
    if left <= 0 {
        return Err(Problem::new(SOLD_OUT, format!("{title} is sold out")).field("sku").hint("Offer another product."));
    }
    if wish.pieces > left {
        return Err(Problem::new(SOLD_OUT, format!("only {left} of {title} are left"))
            .field("pieces")
            .hint("Offer what is left, or another product.")
            .candidates([left.to_string()]));
    }
    if most > 0 && wish.pieces > most {
        let message = format!("one buyer may reserve at most {most} pieces in this live show");
        return Err(Problem::new(code::OUT_OF_BOUNDS, message).field("pieces").candidates([most.to_string()]));
    }
    Ok(left - wish.pieces)
}

/// Writes cents as a number with as many decimals as it needs.
fn amount(cents: i64) -> Json {
    let (whole, rest) = (cents / 100, cents % 100);
    Json(match rest {
        0 => whole.to_string(),
        _ if rest % 10 == 0 => format!("{whole}.{}", rest / 10),
        _ => format!("{whole}.{rest:02}"),
    })
}

fn release(call: &Call) -> Answer {
    call.only(&["sku", "buyer"])?;
    let (sku, buyer) = (call.text("sku")?, call.text("buyer")?);
    let key = hold_key(sku, buyer);
    let value = match kv::get(&key)? {
        Some(value) => value,
        None => return Err(holds_nothing(sku, buyer)?),
    };
    let pieces = Hold::parse(&key, &value)?.pieces;
    kv::delete(&key)?;
    log(&format!("release {sku}: {pieces} of {buyer}"));
    Ok(Data { data: object([("sku", sku.into()), ("buyer", buyer.into()), ("pieces", pieces.into())]), ..Data::default() })
}

/// Refuses, and names the first who do hold something.
fn holds_nothing(sku: &str, buyer: &str) -> Result<Problem, Problem> {
    let prefix = hold_key(sku, "");
    let page = kv::scan(&prefix, "", MAX_NEAR, true)?;
    let near = page.entries.iter().map(|(key, _)| key.strip_prefix(&prefix).unwrap_or(key).to_string());
    Ok(Problem::new(code::NOT_FOUND, format!("{buyer} holds nothing of {sku}")).field("buyer").candidates(near))
}

fn holds(call: &Call) -> Answer {
    call.only(&["sku", "most"])?;
    let (sku, most) = (call.text("sku")?, call.int("most", 20)?);
    let (mut buyers, mut pieces, mut listed) = (0, 0, Vec::new());
    kv::each(&hold_key(sku, ""), |key, value| {
        let hold = Hold::parse(key, value)?;
        if buyers < most {
            listed.push(hold.json());
        }
        buyers += 1;
        pieces += hold.pieces;
        Ok(())
    })?;
    let list = Json(format!("[{}]", listed.join(",")));
    Ok(Data { data: object([("sku", sku.into()), ("buyers", buyers.into()), ("pieces", pieces.into()), ("holds", list)]), ..Data::default() })
}

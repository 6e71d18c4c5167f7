// The skill shop.reserve in AssemblyScript. It does what ../../go does, to the
// byte.
import { Kind, Value, Writer, list } from "./json";
import { manifest } from "./manifest";
import { Call, Code, Problem, Tool, describe, invoke, version } from "./sluice";

const soldOut: i64 = Code.skill + 1;
const maxNear = 3;
const maxPrice: f64 = 1_000_000;

export function sluice_abi(): i32 { return version; }
export function sluice_describe(): i32 { return describe(manifest); }
export function sluice_invoke(): i32 {
  return invoke(manifest, [new Reserve("reserve"), new Release("release"), new Holds("holds")]);
}

class Product {
  constructor(public title: string, public cents: i64, public stock: i64) {}
}

class Hold {
  constructor(public buyer: string, public pieces: i64, public note: string, public at: string) {}

  toString(): string {
    const w = new Writer().text("buyer", this.buyer).int("pieces", this.pieces);
    if (this.note.length > 0) w.text("note", this.note);
    return w.text("at", this.at).end();
  }
}

// A Record reads the members of what is stored; one that is not there is empty,
// and one of another type makes it misfit.
class Record {
  misfit: bool = false;

  constructor(private value: Value) {}

  text(name: string): string {
    const v = this.value.member(name);
    if (!v.isNull && v.kind != Kind.Text) this.misfit = true;
    return v.text;
  }

  int(name: string): i64 {
    const v = this.value.member(name);
    if (v.isInt) return v.int;
    if (!v.isNull) this.misfit = true;
    return 0;
  }

  number(name: string): f64 {
    const v = this.value.member(name);
    if (v.kind == Kind.Number) return v.float;
    if (!v.isNull) this.misfit = true;
    return 0;
  }
}

function holdKey(sku: string, buyer: string): string { return `hold/${sku}/${buyer}`; }

// Reads a record of a hold; one of another form fails the call.
function readHold(call: Call, key: string, value: Value | null): Hold {
  if (value === null) return new Hold("", 0, "", "");
  const record = new Record(value);
  const hold = new Hold(record.text("buyer"), record.int("pieces"), record.text("note"), record.text("at"));
  if (record.misfit) call.otherForm(`the value of key "${key}"`);
  return hold;
}

// Reads all holds of a product, as far as they can be read.
function readHolds(call: Call, sku: string): Hold[] {
  const entries = call.scan(holdKey(sku, ""));
  const holds = new Array<Hold>(0);
  for (let i = 0; i < entries.length && !call.failed; i++) {
    holds.push(readHold(call, entries[i].key, call.object(entries[i].key, entries[i].value)));
  }
  return holds;
}

class Reserve extends Tool {
  serve(call: Call): void {
    call.only(["sku", "buyer", "pieces", "note"]);
    const sku = call.text("sku");
    const hold = new Hold(call.text("buyer"), call.int("pieces", 0), call.text("note"), call.now);
    oneLine(call, "buyer", hold.buyer);
    oneLine(call, "note", hold.note);
    const product = load(call, sku);
    const left = leftFor(call, sku, product, hold);
    call.put(holdKey(sku, hold.buyer), hold.toString());

    call.log(`reserve ${sku}: ${hold.pieces} for ${hold.buyer}, ${left} left`);
    call.data = new Writer().text("sku", sku).text("title", product.title).text("buyer", hold.buyer).int("pieces", hold.pieces)
      .int("left", left).raw("total", amount(product.cents * hold.pieces)).end();
    call.state = new Writer().raw("live.reserved", new Writer().text("sku", sku).text("buyer", hold.buyer).end()).end();
    call.preview = `${hold.buyer} holds ${hold.pieces} of ${sku} (${product.title}); ${left} left.`;
  }
}

// Refuses a text of several lines, or with other control characters.
function oneLine(call: Call, field: string, text: string): void {
  for (let i = 0; i < text.length; i++) {
    if (text.charCodeAt(i) < 0x20) call.refuse(new Problem(Code.badValue, `the ${field} must be one line of text`, field));
  }
}

function load(call: Call, sku: string): Product {
  const key = "product/" + sku;
  const found = call.getObject(key);
  const nothing = new Product("", 0, 0);
  if (found === null) {
    call.refuse(new Problem(Code.notFound, "there is no product " + sku, "sku", "Look it up by words of its title first."));
    return nothing;
  }
  const record = new Record(found);
  const price = record.number("price");
  const product = new Product(record.text("title"), 0, record.int("stock"));
  if (record.misfit) call.otherForm(`the value of key "${key}"`);
  if (!(price >= 0 && price <= maxPrice)) {
    call.refuse(new Problem(Code.unavailable, `the price of ${sku} cannot be right`));
    return nothing;
  }
  product.cents = i64(Math.round(price * 100));
  return product;
}

// Gives what is left of a product once the wish is granted, or fails the call.
function leftFor(call: Call, sku: string, product: Product, wish: Hold): i64 {
  let left = product.stock;
  const holds = readHolds(call, sku);
  for (let i = 0; i < holds.length; i++) if (holds[i].buyer != wish.buyer) left -= holds[i].pieces;
  const state = call.stateOf("live.most");
  if (!state.isNull && !state.isInt) call.otherForm("state live.most");
  const most: i64 = state.isInt ? state.int : 0;
  const title = `${sku} (${product.title})`;
  if (left <= 0) {
    call.refuse(new Problem(soldOut, title + " is sold out", "sku", "Offer another product."));
  } else if (wish.pieces > left) {
    call.refuse(new Problem(soldOut, `only ${left} of ${title} are left`, "pieces", "Offer what is left, or another product.", [left.toString()]));
  } else if (most > 0 && wish.pieces > most) {
    call.refuse(new Problem(Code.outOfBounds, `one buyer may reserve at most ${most} pieces in this live show`, "pieces", "", [most.toString()]));
  }
  return left - wish.pieces;
}

// Writes cents as a number with as many decimals as it needs.
function amount(cents: i64): string {
  const whole = (cents / 100).toString();
  const rest = cents % 100;
  if (rest == 0) return whole;
  return whole + "." + (rest % 10 == 0 ? (rest / 10).toString() : rest.toString().padStart(2, "0"));
}

class Release extends Tool {
  serve(call: Call): void {
    call.only(["sku", "buyer"]);
    const sku = call.text("sku");
    const buyer = call.text("buyer");
    const key = holdKey(sku, buyer);
    const found = call.getObject(key);
    if (found === null) return this.holdsNothing(call, sku, buyer);
    const hold = readHold(call, key, found);
    call.delete(key);
    call.log(`release ${sku}: ${hold.pieces} of ${buyer}`);
    call.data = new Writer().text("sku", sku).text("buyer", buyer).int("pieces", hold.pieces).end();
  }

  // Refuses, and names the first who do hold something.
  private holdsNothing(call: Call, sku: string, buyer: string): void {
    const prefix = holdKey(sku, "");
    const near: string[] = [];
    const entries = call.scan(prefix, maxNear, true);
    for (let i = 0; i < entries.length; i++) near.push(entries[i].key.substring(prefix.length));
    call.refuse(new Problem(Code.notFound, `${buyer} holds nothing of ${sku}`, "buyer", "", near));
  }
}

class Holds extends Tool {
  serve(call: Call): void {
    call.only(["sku", "most"]);
    const sku = call.text("sku");
    const most = call.int("most", 20);
    const holds = readHolds(call, sku);
    const listed: string[] = [];
    let pieces: i64 = 0;
    for (let i = 0; i < holds.length; i++) {
      pieces += holds[i].pieces;
      if (i < most) listed.push(holds[i].toString());
    }
    call.data = new Writer().text("sku", sku).int("buyers", holds.length).int("pieces", pieces).raw("holds", list(listed)).end();
  }
}

// Reads and writes JSON for sluice.ts, with the same bytes as the Go sdk.

export const enum Kind {
  Null,
  Bool,
  Number,
  Text,
  List,
  Object,
}

// Each level of nesting takes stack.
const depthMost = 128;

// A Value is one JSON value. What is not there is a Null.
export class Value {
  constructor(
    public kind: Kind,
    public text: string = "", // of a text; of a number, as it is written
    public names: string[] = [], // of an object's members
    public items: Value[] = [], // and their values; or a list's
  ) {}

  get isNull(): bool { return this.kind == Kind.Null; }
  get isObject(): bool { return this.kind == Kind.Object; }

  // Gives a member of an object, the last of that name.
  member(name: string): Value {
    for (let i = this.names.length - 1; i >= 0; i--) if (this.names[i] == name) return this.items[i];
    return none;
  }

  // Says whether it is a whole number of at most 18 digits.
  get isInt(): bool {
    if (this.kind != Kind.Number) return false;
    const from = this.text.charCodeAt(0) == 0x2d ? 1 : 0;
    for (let i = from; i < this.text.length; i++) if (!isDigit(this.text.charCodeAt(i))) return false;
    return this.text.length - from <= 18;
  }

  get int(): i64 { return I64.parseInt(this.text); }
  get float(): f64 { return parseFloat(this.text); }
}

export const none = new Value(Kind.Null);

// Reads one JSON value; of a text that is none it gives null.
export function parse(text: string): Value | null {
  const p = new Parser(text);
  const v = p.value(0);
  p.space();
  return p.failed || p.at < text.length ? null : v;
}

function isDigit(c: i32): bool { return c >= 0x30 && c <= 0x39; }

class Parser {
  at: i32 = 0;
  failed: bool = false;

  constructor(private text: string) {}

  // Gives the next character, or -1 at the end.
  private peek(): i32 { return this.at < this.text.length ? this.text.charCodeAt(this.at) : -1; }

  space(): void {
    for (let c = this.peek(); c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09; c = this.peek()) this.at++;
  }

  private fail(): Value {
    this.failed = true;
    return none;
  }

  private take(c: i32): bool {
    if (this.peek() != c) return false;
    this.at++;
    return true;
  }

  value(depth: i32): Value {
    this.space();
    const c = this.peek();
    if (depth > depthMost) return this.fail();
    if (c == 0x22) return new Value(Kind.Text, this.string());
    if (c == 0x7b) return this.collection(Kind.Object, 0x7d, depth);
    if (c == 0x5b) return this.collection(Kind.List, 0x5d, depth);
    if (c == 0x2d || isDigit(c)) return this.number();
    if (this.word("true") || this.word("false")) return new Value(Kind.Bool);
    return this.word("null") ? none : this.fail();
  }

  private word(w: string): bool {
    if (!this.text.startsWith(w, this.at)) return false;
    this.at += w.length;
    return true;
  }

  private digits(): bool {
    const from = this.at;
    while (isDigit(this.peek())) this.at++;
    return this.at > from;
  }

  private number(): Value {
    const from = this.at;
    this.take(0x2d);
    let fits = this.take(0x30) ? !isDigit(this.peek()) : this.digits();
    if (this.take(0x2e)) fits = this.digits() && fits;
    if (this.take(0x65) || this.take(0x45)) {
      if (!this.take(0x2b)) this.take(0x2d);
      fits = this.digits() && fits;
    }
    return fits ? new Value(Kind.Number, this.text.substring(from, this.at)) : this.fail();
  }

  private collection(kind: Kind, close: i32, depth: i32): Value {
    const v = new Value(kind);
    this.at++;
    this.space();
    if (this.take(close)) return v;
    do {
      if (kind == Kind.Object) {
        this.space();
        v.names.push(this.string());
        this.space();
        if (!this.take(0x3a)) return this.fail();
      }
      v.items.push(this.value(depth + 1));
      this.space();
    } while (!this.failed && this.take(0x2c));
    return this.take(close) ? v : this.fail();
  }

  private string(): string {
    if (!this.take(0x22)) this.failed = true;
    let text = "";
    let from = this.at;
    while (!this.failed) {
      const c = this.peek();
      if (c < 0x20) {
        this.failed = true; // a control character, or the end
      } else if (c == 0x22) {
        text += this.text.substring(from, this.at++);
        break;
      } else if (c == 0x5c) {
        text += this.text.substring(from, this.at++) + this.escape();
        from = this.at;
      } else {
        this.at++;
      }
    }
    return text;
  }

  private escape(): string {
    const c = this.peek();
    this.at++;
    switch (c) {
      case 0x22: return '"';
      case 0x5c: return "\\";
      case 0x2f: return "/";
      case 0x62: return "\b";
      case 0x66: return "\f";
      case 0x6e: return "\n";
      case 0x72: return "\r";
      case 0x74: return "\t";
      case 0x75: return String.fromCharCode(this.hex());
    }
    this.failed = true;
    return "";
  }

  private hex(): i32 {
    let value = 0;
    for (let i = 0; i < 4; i++, this.at++) {
      const c = this.peek();
      const lower = c | 0x20;
      if (isDigit(c)) value = value * 16 + c - 0x30;
      else if (lower >= 0x61 && lower <= 0x66) value = value * 16 + lower - 0x61 + 10;
      else this.failed = true;
    }
    return value;
  }
}

const hexDigits = "0123456789abcdef";

// Writes a text as JSON.
export function quote(text: string): string {
  let out = '"';
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c >= 0x20 && c != 0x22 && c != 0x5c && c != 0x2028 && c != 0x2029) continue;
    out += text.substring(from, i) + escaped(c);
    from = i + 1;
  }
  return out + text.substring(from) + '"';
}

function escaped(c: i32): string {
  switch (c) {
    case 0x22: return '\\"';
    case 0x5c: return "\\\\";
    case 0x08: return "\\b";
    case 0x0c: return "\\f";
    case 0x0a: return "\\n";
    case 0x0d: return "\\r";
    case 0x09: return "\\t";
    case 0x2028: return "\\u2028"; // these end a line in JavaScript
    case 0x2029: return "\\u2029";
  }
  return "\\u00" + hexDigits.charAt(c >> 4) + hexDigits.charAt(c & 15);
}

// Writes an object, member by member: new Writer().text("a", "b").end().
export class Writer {
  private out: string = "{";

  raw(name: string, json: string): Writer {
    this.out += (this.out.length > 1 ? "," : "") + quote(name) + ":" + json;
    return this;
  }

  text(name: string, value: string): Writer { return this.raw(name, quote(value)); }
  int(name: string, value: i64): Writer { return this.raw(name, value.toString()); }
  end(): string { return this.out + "}"; }
}

// Writes a list of values that are JSON.
export function list(items: string[]): string { return "[" + items.join(",") + "]"; }

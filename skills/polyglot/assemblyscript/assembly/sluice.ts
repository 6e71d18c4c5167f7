// What a skill in AssemblyScript needs of Sluice, over Extism's PDK: lay this
// file and json.ts beside your skill.
//
//   import { Call, Tool, describe, invoke, version } from "./sluice";
//
//   class Greet extends Tool {
//     serve(call: Call): void {
//       call.data = new Writer().text("greeting", "hello " + call.text("name")).end();
//     }
//   }
//
//   export function sluice_abi(): i32 { return version; }
//   export function sluice_describe(): i32 { return describe(manifest); }
//   export function sluice_invoke(): i32 { return invoke(manifest, [new Greet("greet")]); }
//
// There are no exceptions to catch. A call that failed stays failed instead:
// the first refusal is its answer, and what is done afterwards has no effect on
// the store. So a handler may go on for a few lines and ask call.failed once.
//
// Every call begins with the memory that the module had when it was loaded and
// ends by throwing its own away. So the runtime is "stub", which frees nothing,
// and global variables are as they were.
//
// Life of an invocation
//  1. invoke copies the input in and reads it as JSON.
//  2. The tool is found by its name and serves the call.
//  3. The data that it gave, or the first problem, becomes the output.
import { Host, LogLevel, Memory } from "@extism/as-pdk";
import { Kind, Value, Writer, list, none, parse, quote } from "./json";
import { length } from "@extism/as-pdk/lib/env";

@external("extism:host/user", "sluice_kv_get")
declare function hostGet(key: u64): i64;
@external("extism:host/user", "sluice_kv_put")
declare function hostPut(key: u64, value: u64): i64;
@external("extism:host/user", "sluice_kv_delete")
declare function hostDelete(key: u64): i64;
@external("extism:host/user", "sluice_kv_scan")
declare function hostScan(query: u64): i64;

// The version of the contract.
export const version: i32 = 1;

// Codes of problems; a skill's own are from skill on.
export namespace Code {
  export const refused: i64 = 3000;
  export const outOfBounds: i64 = 3001;
  export const notAllowed: i64 = 3002;
  export const conflict: i64 = 3003;
  export const notFound: i64 = 3004;
  export const skill: i64 = 3100;
  export const badArguments: i64 = 4000;
  export const notJSON: i64 = 4001;
  export const wrongType: i64 = 4002;
  export const unknownTool: i64 = 4004;
  export const badValue: i64 = 4007;
  export const unknownField: i64 = 4008;
  export const systemFailure: i64 = 5000;
  export const unavailable: i64 = 5002;
  export const trap: i64 = 9001;
}

// A Problem is a failure that the model reads: say what is wrong, and what
// would do.
export class Problem {
  constructor(
    public code: i64,
    public message: string,
    public field: string = "", // the argument that it is about
    public hint: string = "", // what to do now
    public candidates: string[] = [], // values that would do
  ) {}

  toString(): string {
    const w = new Writer().int("code", this.code).text("message", this.message);
    if (this.field.length > 0) w.text("field", this.field);
    if (this.hint.length > 0) w.text("hint", this.hint);
    if (this.candidates.length > 0) w.raw("candidates", list(this.candidates.map<string>((c) => quote(c))));
    return w.end();
  }
}

// A Tool is one tool of a skill, by the name that the manifest has.
export abstract class Tool {
  constructor(public name: string) {}
  abstract serve(call: Call): void;
}

// An Entry is one key of the store with its value.
export class Entry {
  constructor(public key: string, public value: string) {}
}

// A Call is the call that a handler serves.
export class Call {
  data: string = "null"; // the tool's data as JSON
  state: string = ""; // a merge patch of state keys as a JSON object, if there is one
  preview: string = ""; // one line for the model, if there is one
  problem: string = ""; // the first one, as JSON

  constructor(private invocation: Value) {}

  get failed(): bool { return this.problem.length > 0; }

  // Ends the call with a problem.
  refuse(problem: Problem): void {
    if (!this.failed) this.problem = problem.toString();
  }

  // What is stored has another form than the skill reads.
  otherForm(what: string): void {
    this.refuse(new Problem(Code.systemFailure, what + " has another form than this skill reads"));
  }

  private get args(): Value { return this.invocation.member("args"); }

  // An argument; one that is left out is the empty text. The host has checked
  // arguments against the manifest's schema before.
  text(name: string): string {
    const v = this.args.member(name);
    if (v.kind != Kind.Text && !v.isNull) this.wrongType(name, "string", v);
    return v.text;
  }

  // A whole number; one that is left out is the default.
  int(name: string, standard: i64): i64 {
    const v = this.args.member(name);
    if (v.isNull) return standard;
    if (v.isInt) return v.int;
    this.wrongType(name, "integer", v);
    return standard;
  }

  // Refuses arguments of other names.
  only(names: string[]): void {
    for (let i = 0; i < this.args.names.length; i++) {
      const name = this.args.names[i];
      if (!names.includes(name)) this.refuse(new Problem(Code.unknownField, "there is no argument " + quote(name), name));
    }
  }

  private wrongType(name: string, want: string, got: Value): void {
    const kinds = ["null", "bool", "number", "string", "array", "object"];
    this.refuse(new Problem(Code.wrongType, `must be of type ${want}, not ${kinds[got.kind]}`, name));
  }

  // The host's clock at the call's start, as RFC 3339 in UTC.
  get now(): string { return this.invocation.member("call").member("now").text; }

  // A key of the session state that the manifest may read, or a null.
  stateOf(key: string): Value { return this.invocation.member("state").member(key); }

  // Writes one line for operators; the model never sees it.
  log(line: string): void {
    if (this.failed) return;
    const block = blockOf(line);
    Host.logMemory(LogLevel.Info, block);
    block.free();
  }

  // Reads a value of the skill's namespace; null where there is none, and where
  // the call failed.
  get(key: string): string | null {
    return this.failed ? null : this.textOf(hostGet(blockOf(key).offset));
  }

  // Reads a value that must be a JSON object.
  getObject(key: string): Value | null {
    const text = this.get(key);
    return text === null ? null : this.object(key, text);
  }

  // Reads the text of a value as a JSON object.
  object(key: string, text: string): Value | null {
    const v = parse(text);
    if (v !== null && v.isObject) return v;
    this.otherForm("the value of key " + quote(key));
    return null;
  }

  // Writes a value; nothing of a call that fails is kept.
  put(key: string, value: string): void {
    if (!this.failed) this.result(hostPut(blockOf(key).offset, blockOf(value).offset));
  }

  delete(key: string): void {
    if (!this.failed) this.result(hostDelete(blockOf(key).offset));
  }

  // Gives the entries with a prefix, in the order of their keys' bytes: the
  // first of them up to most, or all.
  scan(prefix: string, most: i32 = i32.MAX_VALUE, keysOnly: bool = false): Entry[] {
    const entries: Entry[] = [];
    let after = "";
    do {
      const query = new Writer().text("prefix", prefix);
      if (after.length > 0) query.text("after", after);
      if (most < 1000) query.int("limit", most);
      if (keysOnly) query.raw("keys_only", "true");
      if (this.failed) break;
      const page = this.result(hostScan(blockOf(query.end()).offset));
      if (page === null) break;
      const next = readPage(page, entries);
      if (next === null) {
        this.otherForm("a page of the store");
        break;
      }
      after = next;
    } while (after.length > 0 && entries.length < most);
    return entries;
  }

  private textOf(handle: i64): string | null {
    const bytes = this.result(handle);
    return bytes === null ? null : String.UTF8.decode(bytes.buffer);
  }

  // Reads what a host function gave: a block, nothing, or a problem.
  private result(handle: i64): Uint8Array | null {
    if (handle > 0) return take(handle);
    if (handle < 0) this.passOn(String.UTF8.decode(take(-handle).buffer));
    return null;
  }

  // Ends the call with the host's own problem. A code that is not a skill's to
  // give becomes a passing failure of the system.
  private passOn(text: string): void {
    const parsed = parse(text);
    const p = parsed === null ? none : parsed;
    const code = p.member("code");
    if (!code.isInt) return this.refuse(new Problem(Code.systemFailure, "the host refused without saying why"));
    const n = code.int;
    if ((n >= 3000 && n < 5000) || (n >= Code.systemFailure && n <= Code.unavailable) || n == Code.trap) {
      if (!this.failed) this.problem = text;
      return;
    }
    this.refuse(new Problem(Code.systemFailure, p.member("message").text, "", p.member("hint").text));
  }
}

// Reads a page into entries and gives where the next one begins; null where it has
// not the entries that it says: no host of this contract writes such a page, but
// another might.
function readPage(page: Uint8Array, entries: Entry[]): string | null {
  const start = page.dataStart;
  const size = <u64>page.length;
  if (size == 0) return "";
  if (size < 4) return null;
  const count = load<u32>(start);
  let at: u64 = 4;
  for (let i: u32 = 0; i < count; i++) {
    if (size - at < 4) return null;
    const keyLength = <u64>load<u32>(start + <usize>at);
    if (size - at < 8 + keyLength) return null;
    const valueAt = at + 8 + keyLength;
    const valueLength = <u64>load<u32>(start + <usize>(valueAt - 4));
    if (size - valueAt < valueLength) return null;
    const key = String.UTF8.decodeUnsafe(start + <usize>at + 4, <usize>keyLength);
    entries.push(new Entry(key, String.UTF8.decodeUnsafe(start + <usize>valueAt, <usize>valueLength)));
    at = valueAt + valueLength;
  }
  if (count == 0 && at < size) return null;
  return String.UTF8.decodeUnsafe(start + <usize>at, <usize>(size - at));
}

// Copies a text into a block of the host. Halves of characters that stand alone
// become the replacement character.
function blockOf(text: string): Memory {
  const bytes = Uint8Array.wrap(String.UTF8.encode(text, false, String.UTF8.ErrorMode.REPLACE));
  const block = Memory.allocate(bytes.length);
  block.store(bytes);
  return block;
}

// Copies a block out and frees it.
function take(handle: i64): Uint8Array {
  const block = new Memory(handle, length(handle));
  const bytes = block.toUint8Array();
  block.free();
  return bytes;
}

// Gives the manifest as the output.
export function describe(manifest: string): i32 {
  Host.outputMemory(blockOf(manifest));
  return 0;
}

// Serves the invocation that is the input with one of the tools.
export function invoke(manifest: string, tools: Tool[]): i32 {
  const parsed = parse(Host.inputString());
  const call = new Call(parsed === null ? none : parsed);
  serve(call, parsed === null ? none : parsed, manifest, tools);
  const reply = new Writer();
  if (call.failed) {
    reply.raw("ok", "false").raw("problem", call.problem);
  } else {
    reply.raw("ok", "true").raw("data", call.data);
    if (call.state.length > 0) reply.raw("state", call.state);
    if (call.preview.length > 0) reply.text("preview", call.preview);
  }
  Host.outputMemory(blockOf(reply.end()));
  return 0;
}

function serve(call: Call, invocation: Value, manifest: string, tools: Tool[]): void {
  if (!invocation.isObject) return call.refuse(new Problem(Code.notJSON, "the invocation is not an envelope that this skill reads"));
  const abi = invocation.member("abi");
  const speaks: i64 = abi.isInt ? abi.int : 0;
  if (speaks != version) {
    return call.refuse(new Problem(Code.badArguments, `the invocation has version ${speaks} of the contract; this skill speaks version ${version}`));
  }
  const name = invocation.member("tool").text;
  for (let i = 0; i < tools.length; i++) if (tools[i].name == name) return tools[i].serve(call);
  const described = parse(manifest);
  const skill = described === null ? "this skill" : described.member("name").text;
  call.refuse(new Problem(Code.unknownTool, `${skill} has no tool ${quote(name)}`));
}

// Says where the program failed, in the log, before it traps.
export function aborted(message: string | null, file: string | null, line: u32, column: u32): void {
  const what = message === null ? "aborted" : message;
  const where = file === null ? "?" : file;
  Host.logMemory(LogLevel.Error, blockOf(`${what} (${where}:${line}:${column})`));
}

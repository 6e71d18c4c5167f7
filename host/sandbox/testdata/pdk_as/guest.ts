// A guest that uses Extism's library for AssemblyScript, and its functions
// where the library has no words for them; testdata/pdk_c does the same.
import { Config, Host, LogLevel, Memory, Var } from "@extism/as-pdk";
import { error_set, http_request, length } from "@extism/as-pdk/lib/env";

export function echo(): i32 {
  Host.output(Host.input());
  return 0;
}

export function text(): i32 {
  Host.outputString("shelf " + Host.inputString());
  return 0;
}

export function fail(): i32 {
  Host.outputString("half of it");
  error_set(Memory.allocateString("the shelf 货架 is empty").offset);
  return 3;
}

export function logs(): i32 {
  Host.log(LogLevel.Debug, "debug text");
  Host.log(LogLevel.Info, "info 信息");
  Host.log(LogLevel.Warn, "");
  Host.log(LogLevel.Error, Host.inputString());
  return 0;
}

export function config(): i32 {
  let found = "";
  const keys = ["shop", "empty", "missing", ""];
  for (let i = 0; i < keys.length; i++) {
    const value = Config.get(keys[i]);
    found += keys[i] + "=" + (value === null ? "nothing" : value) + ";";
  }
  Host.output(Uint8Array.wrap(String.UTF8.encode(found)));
  return 0;
}

function kept(key: string): string {
  const value = Var.getString(key);
  return value === null ? "nothing" : value;
}

export function vars(): i32 {
  let found = kept("stock") + ";";
  Var.set("stock", Uint8Array.wrap(String.UTF8.encode("17")));
  Var.set("stock", Host.input());
  Var.set("gone", Uint8Array.wrap(String.UTF8.encode("x")));
  Var.remove("gone");
  found += kept("stock") + ";" + kept("gone") + ";" + kept("never");
  Host.output(Uint8Array.wrap(String.UTF8.encode(found)));
  return 0;
}

// The input is the JSON of a request.
export function fetch(): i32 {
  const request = Memory.allocateBytes(Host.input());
  const answer = http_request(request.offset, Memory.allocateString("the body 正文").offset);
  Host.outputMemory(new Memory(answer, length(answer)));
  return 0;
}

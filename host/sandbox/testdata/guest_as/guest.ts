// A guest in AssemblyScript, with its garbage collector. It does what
// testdata/guest_go says.

@external("extism:host/env", "input_length")
declare function inputLength(): u64;
@external("extism:host/env", "input_load_u8")
declare function inputLoad(at: u64): u32;
@external("extism:host/env", "alloc")
declare function blockAlloc(size: u64): u64;
@external("extism:host/env", "store_u8")
declare function blockStore(at: u64, value: u32): void;
@external("extism:host/env", "output_set")
declare function outputSet(at: u64, length: u64): void;
@external("extism:host/env", "error_set")
declare function errorSet(at: u64): void;

const longest = 64;
const prime: u64 = 1099511628211;

// All of this would show a second call in the same instance.
const table = makeTable(); // by the start function
let calls = 0;
let sum: u64 = 0;
const fields = new Array<Uint8Array>(); // grows and grows

function makeTable(): StaticArray<u64> {
  const t = new StaticArray<u64>(256);
  t[0] = 1;
  for (let i = 1; i < 256; i++) t[i] = t[i - 1] * 6364136223846793005 + 1442695040888963407;
  return t;
}

function blockOf(text: string): u64 {
  const at = blockAlloc(text.length);
  for (let i = 0; i < text.length; i++) blockStore(at + i, text.charCodeAt(i));
  return at;
}

function isNumber(field: Uint8Array): bool {
  for (let i = 0; i < field.length; i++) if (field[i] < 0x30 || field[i] > 0x39) return false;
  return true;
}

function add(field: Uint8Array): void {
  let value: u64 = 0;
  for (let i = 0; i < field.length; i++) value = value * 10 + (field[i] - 0x30);
  sum += value;
  const buffer = new Uint8Array(<i32>(value % 64) * 1024);
  for (let i = 0; i < buffer.length; i++) buffer[i] = <u8>(<u64>i * 7 + value);
  for (let i = 0; i < buffer.length; i += 61) sum += buffer[i];
}

function byBytes(a: Uint8Array, b: Uint8Array): i32 {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] != b[i]) return <i32>a[i] - <i32>b[i];
  return a.length - b.length;
}

function digest(): u64 {
  let h: u64 = 14695981039346656037;
  fields.sort(byBytes);
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i];
    for (let j = 0; j < field.length; j++) h = (h ^ field[j]) * prime + table[field[j]];
    h = (h * prime) ^ field.length;
  }
  return h;
}

export function tally(): i32 {
  calls++;
  const n = <i32>inputLength();
  const input = new Uint8Array(n + 1);
  for (let i = 0; i < n; i++) input[i] = <u8>inputLoad(i);
  input[n] = 0x20;
  for (let i = 0, from = 0; i <= n; i++) {
    if (input[i] != 0x20) continue;
    const field = input.slice(from, i);
    from = i + 1;
    if (field.length == 0) continue;
    if (field.length > longest) {
      errorSet(blockOf("a field is too long"));
      return 1;
    }
    if (field.length == 1 && field[0] == 0x21) unreachable();
    fields.push(field);
    if (isNumber(field)) add(field);
  }
  const hex = digest().toString(16).padStart(16, "0");
  const text = `calls=${calls} fields=${fields.length} sum=${sum} digest=${hex}`;
  outputSet(blockOf(text), text.length);
  return 0;
}

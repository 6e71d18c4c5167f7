//! What a skill in Rust needs of Sluice: lay this file beside your skill.
//!
//! ```
//! mod sluice;
//! use sluice::{object, Answer, Call, Data};
//!
//! fn greet(call: &Call) -> Answer {
//!     let greeting = format!("hello {}", call.text("name")?);
//!     Ok(Data { data: object([("greeting", greeting.as_str().into())]), ..Data::default() })
//! }
//!
//! skill!("../manifest.json", [("greet", greet)]);
//! ```
//!
//! Every call begins with the memory that the module had when it was loaded,
//! and ends by throwing its own away: statics are as they were. A panic is a
//! trap, which the host answers as a problem of the skill's.
//!
//! Life of an invocation:
//!  1. `sluice_invoke` copies the input in and reads it as JSON.
//!  2. The tool is found by its name and run.
//!  3. What it gave, data or a problem, becomes the output.

use serde_json::{Map, Value};
use std::fmt::Write;

/// The version of the contract.
pub const VERSION: i32 = 1;

/// Codes of problems; a skill's own are from `SKILL` on.
#[allow(dead_code)]
pub mod code {
    pub const REFUSED: i64 = 3000;
    pub const OUT_OF_BOUNDS: i64 = 3001;
    pub const NOT_ALLOWED: i64 = 3002;
    pub const CONFLICT: i64 = 3003;
    pub const NOT_FOUND: i64 = 3004;
    pub const SKILL: i64 = 3100;
    pub const BAD_ARGUMENTS: i64 = 4000;
    pub const NOT_JSON: i64 = 4001;
    pub const WRONG_TYPE: i64 = 4002;
    pub const UNKNOWN_TOOL: i64 = 4004;
    pub const BAD_VALUE: i64 = 4007;
    pub const UNKNOWN_FIELD: i64 = 4008;
    pub const SYSTEM_FAILURE: i64 = 5000;
    pub const UNAVAILABLE: i64 = 5002;
    pub const TRAP: i64 = 9001;
}

/// A failure that the model reads: say what is wrong, and what would do.
#[derive(Default)]
pub struct Problem {
    code: i64,
    message: String,
    field: String,
    hint: String,
    candidates: Vec<String>,
}

impl Problem {
    pub fn new(code: i64, message: impl Into<String>) -> Problem {
        Problem { code, message: message.into(), ..Problem::default() }
    }

    /// Names the argument that it is about.
    pub fn field(mut self, name: &str) -> Problem {
        self.field = name.into();
        self
    }

    /// Says what to do now.
    pub fn hint(mut self, text: &str) -> Problem {
        self.hint = text.into();
        self
    }

    /// Lists values that would do.
    pub fn candidates(mut self, values: impl IntoIterator<Item = String>) -> Problem {
        self.candidates.extend(values);
        self
    }

    /// What is stored has another form than the skill reads.
    pub fn other_form(what: &str) -> Problem {
        Problem::new(code::SYSTEM_FAILURE, format!("{what} has another form than this skill reads"))
    }

    /// Reads a problem of the host's. A code that is not a skill's to give
    /// becomes a passing failure of the system.
    fn of_host(json: &[u8]) -> Problem {
        let p: Value = serde_json::from_slice(json).unwrap_or_default();
        let text = |name: &str| p[name].as_str().unwrap_or_default().to_string();
        match p["code"].as_i64() {
            None => Problem::new(code::SYSTEM_FAILURE, "the host refused without saying why"),
            Some(n @ (3000..=4999 | code::SYSTEM_FAILURE..=code::UNAVAILABLE | code::TRAP)) => Problem {
                code: n,
                message: text("message"),
                field: text("field"),
                hint: text("hint"),
                candidates: p["candidates"].as_array().into_iter().flatten().filter_map(|c| c.as_str().map(String::from)).collect(),
            },
            Some(_) => Problem { code: code::SYSTEM_FAILURE, message: text("message"), hint: text("hint"), ..Problem::default() },
        }
    }

    fn json(&self) -> String {
        let mut members = vec![("code", self.code.into()), ("message", self.message.as_str().into())];
        for (name, text) in [("field", &self.field), ("hint", &self.hint)] {
            if !text.is_empty() {
                members.push((name, text.as_str().into()));
            }
        }
        if !self.candidates.is_empty() {
            members.push(("candidates", self.candidates.clone().into()));
        }
        object(members)
    }
}

/// Writes an object with its members in the given order, which serde_json's own
/// map does not keep.
pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Json)>) -> String {
    let mut text = String::from("{");
    for (name, value) in members {
        let comma = if text.len() > 1 { "," } else { "" };
        let _ = write!(text, "{comma}{}:{}", quote(name), value.0); // to a String, which does not fail
    }
    text + "}"
}

/// One JSON value as text, made from a text, a whole number or a list of texts.
pub struct Json(pub String);

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json(quote(text))
    }
}

/// Writes a text as JSON, with the same bytes as the Go sdk.
pub fn quote(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    if !text.contains(['\u{2028}', '\u{2029}']) {
        return quoted;
    }
    quoted.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029") // these end a line in JavaScript
}

impl From<i64> for Json {
    fn from(n: i64) -> Json {
        Json(n.to_string())
    }
}

impl From<Vec<String>> for Json {
    fn from(list: Vec<String>) -> Json {
        let texts: Vec<String> = list.iter().map(|text| quote(text)).collect();
        Json(format!("[{}]", texts.join(",")))
    }
}

/// What a tool gives: its data as JSON; and, if it has them, a merge patch of
/// state keys as a JSON object and one line for the model.
#[derive(Default)]
pub struct Data {
    pub data: String,
    pub state: String,
    pub preview: String,
}

pub type Answer = Result<Data, Problem>;

/// The call that a handler serves.
pub struct Call {
    invocation: Value,
}

impl Call {
    /// An argument; one that is left out is the empty text. The host has
    /// checked arguments against the manifest's schema before.
    pub fn text(&self, name: &str) -> Result<&str, Problem> {
        match &self.invocation["args"][name] {
            Value::Null => Ok(""),
            Value::String(text) => Ok(text),
            other => Err(wrong_type(name, "string", other)),
        }
    }

    /// A whole number; one that is left out is the default.
    pub fn int(&self, name: &str, default: i64) -> Result<i64, Problem> {
        match &self.invocation["args"][name] {
            Value::Null => Ok(default),
            v => v.as_i64().ok_or_else(|| wrong_type(name, "integer", v)),
        }
    }

    /// Refuses arguments of other names.
    pub fn only(&self, names: &[&str]) -> Result<(), Problem> {
        let none = Map::new();
        let args = self.invocation["args"].as_object().unwrap_or(&none);
        match args.keys().find(|key| !names.contains(&key.as_str())) {
            Some(key) => Err(Problem::new(code::UNKNOWN_FIELD, format!("there is no argument {}", quote(key))).field(key)),
            None => Ok(()),
        }
    }

    /// The host's clock at the call's start, as RFC 3339 in UTC.
    pub fn now(&self) -> &str {
        self.invocation["call"]["now"].as_str().unwrap_or_default()
    }

    /// A key of the session state that the manifest may read, or null.
    pub fn state(&self, key: &str) -> &Value {
        &self.invocation["state"][key]
    }
}

fn wrong_type(name: &str, want: &str, got: &Value) -> Problem {
    let kind = match got {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    Problem::new(code::WRONG_TYPE, format!("must be of type {want}, not {kind}")).field(name)
}

/// The skill's namespace of the store. Nothing of a call that fails is kept.
pub mod kv {
    use super::*;

    pub fn get(key: &str) -> Result<Option<Vec<u8>>, Problem> {
        host::result(unsafe { host::sluice_kv_get(host::block(key.as_bytes())) })
    }

    /// Reads a value that must be a JSON object.
    pub fn get_json(key: &str) -> Result<Option<Value>, Problem> {
        get(key)?.map(|value| parse(key, &value)).transpose()
    }

    pub fn parse(key: &str, value: &[u8]) -> Result<Value, Problem> {
        let v: Value = serde_json::from_slice(value).unwrap_or_default();
        if v.is_object() { Ok(v) } else { Err(Problem::other_form(&format!("the value of key {}", quote(key)))) }
    }

    pub fn put(key: &str, value: &str) -> Result<(), Problem> {
        host::result(unsafe { host::sluice_kv_put(host::block(key.as_bytes()), host::block(value.as_bytes())) }).map(|_| ())
    }

    pub fn delete(key: &str) -> Result<(), Problem> {
        host::result(unsafe { host::sluice_kv_delete(host::block(key.as_bytes())) }).map(|_| ())
    }

    pub struct Page {
        pub entries: Vec<(String, Vec<u8>)>,
        pub after: String, // where the next page begins; empty at the end
    }

    /// Reads one page of the keys with a prefix, in the order of their bytes;
    /// limit 0 is as many as the host gives.
    pub fn scan(prefix: &str, after: &str, limit: i64, keys_only: bool) -> Result<Page, Problem> {
        let mut query = vec![("prefix", prefix.into())];
        if !after.is_empty() {
            query.push(("after", after.into()));
        }
        if limit > 0 {
            query.push(("limit", limit.into()));
        }
        if keys_only {
            query.push(("keys_only", Json("true".into())));
        }
        let bytes = host::result(unsafe { host::sluice_kv_scan(host::block(object(query).as_bytes())) })?.unwrap_or_default();
        read_page(&bytes).ok_or_else(|| Problem::new(code::SYSTEM_FAILURE, "the host gave a page that cannot be read"))
    }

    /// Calls a function for every entry with a prefix, page after page.
    pub fn each(prefix: &str, mut serve: impl FnMut(&str, &[u8]) -> Result<(), Problem>) -> Result<(), Problem> {
        let mut after = String::new();
        loop {
            let page = scan(prefix, &after, 0, false)?;
            for (key, value) in &page.entries {
                serve(key, value)?;
            }
            if page.after.is_empty() {
                return Ok(());
            }
            after = page.after;
        }
    }

    fn read_page(bytes: &[u8]) -> Option<Page> {
        let (head, mut rest) = (bytes.get(..4)?, &bytes[4..]);
        let mut entries = Vec::new();
        for _ in 0..u32::from_le_bytes(head.try_into().ok()?) {
            let key = cut(&mut rest)?;
            entries.push((String::from_utf8_lossy(key).into_owned(), cut(&mut rest)?.to_vec()));
        }
        Some(Page { entries, after: String::from_utf8_lossy(rest).into_owned() })
    }

    fn cut<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let part = rest.get(4..4 + length)?;
        *rest = &rest[4 + length..];
        Some(part)
    }
}

/// Writes one line for operators; the model never sees it.
pub fn log(line: &str) {
    let block = host::block(line.as_bytes());
    unsafe {
        host::log_info(block);
        host::free(block);
    }
}

pub type Tool = (&'static str, fn(&Call) -> Answer);

/// Makes the module's exports. It stands once in a skill.
#[macro_export]
macro_rules! skill {
    ($manifest:expr, $tools:expr) => {
        #[no_mangle]
        pub extern "C" fn sluice_abi() -> i32 {
            $crate::sluice::VERSION
        }

        #[no_mangle]
        pub extern "C" fn sluice_describe() -> i32 {
            $crate::sluice::host::output(include_str!($manifest));
            0
        }

        #[no_mangle]
        pub extern "C" fn sluice_invoke() -> i32 {
            let tools: &[$crate::sluice::Tool] = &$tools;
            let reply = $crate::sluice::reply(include_str!($manifest), tools);
            $crate::sluice::host::output(&reply);
            0
        }
    };
}

/// Serves the invocation that is the input, and gives the reply.
pub fn reply(manifest: &str, tools: &[Tool]) -> String {
    match serve(manifest, tools) {
        Ok(answer) => {
            let mut members = vec![("ok", Json("true".into())), ("data", Json(answer.data))];
            if !answer.state.is_empty() {
                members.push(("state", Json(answer.state)));
            }
            if !answer.preview.is_empty() {
                members.push(("preview", answer.preview.as_str().into()));
            }
            object(members)
        }
        Err(problem) => object([("ok", Json("false".into())), ("problem", Json(problem.json()))]),
    }
}

fn serve(manifest: &str, tools: &[Tool]) -> Answer {
    let invocation: Value = serde_json::from_slice(&host::input()).unwrap_or_default();
    if !invocation.is_object() {
        return Err(Problem::new(code::NOT_JSON, "the invocation is not an envelope that this skill reads"));
    }
    let version = invocation["abi"].as_i64().unwrap_or_default();
    if version != i64::from(VERSION) {
        let message = format!("the invocation has version {version} of the contract; this skill speaks version {VERSION}");
        return Err(Problem::new(code::BAD_ARGUMENTS, message));
    }
    let name = invocation["tool"].as_str().unwrap_or_default().to_string();
    match tools.iter().find(|tool| tool.0 == name) {
        Some(tool) => (tool.1)(&Call { invocation }),
        None => {
            let skill: Value = serde_json::from_str(manifest).unwrap_or_default();
            let message = format!("{} has no tool {}", skill["name"].as_str().unwrap_or("this skill"), quote(&name));
            Err(Problem::new(code::UNKNOWN_TOOL, message))
        }
    }
}

/// Extism's ABI and the host functions. Blocks lie in a memory of the host and
/// are reached through handles; the host copies them whole.
pub mod host {
    use super::Problem;

    #[link(wasm_import_module = "extism:host/env")]
    extern "C" {
        fn input_length() -> u64;
        fn input_offset() -> u64;
        fn alloc(size: u64) -> u64;
        pub fn free(block: u64);
        fn length(block: u64) -> u64;
        fn output_set(block: u64, length: u64);
        pub fn log_info(block: u64);
    }

    #[link(wasm_import_module = "extism:host/user")]
    extern "C" {
        fn sluice_block_read(at: u64, to: *mut u8, length: usize);
        fn sluice_block_write(at: u64, from: *const u8, length: usize);
        pub fn sluice_kv_get(key: u64) -> i64;
        pub fn sluice_kv_put(key: u64, value: u64) -> i64;
        pub fn sluice_kv_delete(key: u64) -> i64;
        pub fn sluice_kv_scan(query: u64) -> i64;
    }

    /// Copies bytes into a new block.
    pub fn block(bytes: &[u8]) -> u64 {
        unsafe {
            let at = alloc(bytes.len() as u64);
            sluice_block_write(at, bytes.as_ptr(), bytes.len());
            at
        }
    }

    fn copy(block: u64, size: u64) -> Vec<u8> {
        let mut bytes = vec![0; size as usize];
        unsafe { sluice_block_read(block, bytes.as_mut_ptr(), bytes.len()) };
        bytes
    }

    /// Copies the input.
    pub fn input() -> Vec<u8> {
        unsafe { copy(input_offset(), input_length()) }
    }

    /// Copies a block out and frees it.
    fn take(block: u64) -> Vec<u8> {
        unsafe {
            let bytes = copy(block, length(block));
            free(block);
            bytes
        }
    }

    /// Makes a text the output; the host reads it after the call.
    pub fn output(text: &str) {
        unsafe { output_set(block(text.as_bytes()), text.len() as u64) }
    }

    /// Reads what a host function gave: a block, nothing, or a problem.
    pub fn result(handle: i64) -> Result<Option<Vec<u8>>, Problem> {
        match handle {
            0 => Ok(None),
            1.. => Ok(Some(take(handle as u64))),
            _ => Err(Problem::of_host(&take(handle.unsigned_abs()))),
        }
    }
}

/// The allocator: memory lasts for one call only, so nothing is freed. It
/// begins with what the module has from its start, and so a small call never
/// asks the host for more, which takes longer than the call.
mod memory {
    use std::alloc::{GlobalAlloc, Layout};
    use std::arch::wasm32::{memory_grow, memory_size};
    use std::cell::Cell;

    const PAGE: usize = 64 << 10;

    struct Bump {
        next: Cell<usize>, // 0 before the first
    }

    // A guest has one thread.
    unsafe impl Sync for Bump {}

    #[global_allocator]
    static BUMP: Bump = Bump { next: Cell::new(0) };

    extern "C" {
        static __heap_base: u8; // from the linker: where data and stack end
    }

    unsafe impl GlobalAlloc for Bump {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            let next = if self.next.get() == 0 { &__heap_base as *const u8 as usize } else { self.next.get() };
            let at = (next + layout.align() - 1) & !(layout.align() - 1);
            let end = match at.checked_add(layout.size()) {
                Some(end) => end,
                None => return std::ptr::null_mut(),
            };
            let have = memory_size(0) * PAGE;
            // Twice as much as there is, so that growing is rare.
            if end > have && memory_grow(0, ((end - have) / PAGE + 1).max(memory_size(0))) == usize::MAX && memory_grow(0, (end - have) / PAGE + 1) == usize::MAX {
                return std::ptr::null_mut();
            }
            self.next.set(end);
            at as *mut u8
        }

        unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}

        unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
            if size <= layout.size() {
                return old;
            }
            if old as usize + layout.size() == self.next.get() {
                self.next.set(old as usize); // the last one grows where it is
            }
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() && new != old {
                std::ptr::copy_nonoverlapping(old, new, layout.size());
            }
            new
        }
    }
}

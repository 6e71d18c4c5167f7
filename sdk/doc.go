// Package sdk is what a skill is written with. An author writes typed handlers
// and declares them; schemas, manifest, envelope, problems and host functions
// follow from the Go types and the options. It imports package abi, with the
// JSON and the messages below it, and the standard library only.
//
//	package main
//
//	var _ = sdk.Skill("shop.pricing", "1.0.0", "Changes product prices.",
//		sdk.Positioning("Use it to change the price of ONE product. Never for coupons."),
//		sdk.KV("shop"))
//
//	var _ = sdk.Tool("set_price", setPrice,
//		sdk.Summary("Change the price of one product."),
//		sdk.Write, sdk.Idempotent, sdk.Targets("[args.sku]"),
//		sdk.Example("把 1001 改到 89 元", NewPrice{SKU: "1001", Price: 89}))
//
//	type NewPrice struct {
//		SKU   string  `json:"sku" desc:"the product's number" minlen:"1"`
//		Price float64 `json:"price" min:"0.01"`
//	}
//
//	func setPrice(c sdk.Call, in NewPrice) (Product, error) {
//		var p Product
//		found, err := sdk.KVGetJSON(c, "product/"+in.SKU, &p)
//		if err != nil {
//			return p, err
//		}
//		if !found {
//			return p, sdk.Refuse(abi.NotFound, "there is no product %q", in.SKU).WithField("sku")
//		}
//		p.Price = in.Price
//		return p, sdk.KVPutJSON(c, "product/"+in.SKU, p)
//	}
//
//	func main() {} // never runs: the host calls the handlers
//
// Declarations are package variables, never init functions. A mistake in them
// does not stop the program; every one is listed by sluice_describe, which
// `sluice skill build` runs, and by sdk/skilltest.
//
// # Build and test
//
//	sluice skill build .
//	go test .
//
// The skill is compiled twice: the first module describes itself, and the
// second has that description as a constant and none of the code and data that
// make it. It is then packed: what Go's linker stores and a rule gives, a start
// function makes. Compiled plainly, a skill works too, and is about 0.5 MB
// larger:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -buildvcs=false -ldflags='-s -w' -o skill.wasm .
//
// The same code builds and is tested natively: see package sdk/skilltest,
// which runs handlers and examples in memory under the limits of the host.
//
// A module of a small skill has about 2.5 MB. Fmt, encoding/json, time, os and
// what else a skill imports come on top: the sdk uses none of them. A time is
// an Instant, in types as well as the call's Now; package sdk/clock leads to
// time.Time, which types may hold, too.
//
// # Types and tags
//
// Arguments are a struct. A field with omitempty or omitzero, or a pointer, is
// optional; every other is required; no others are accepted. Results may have
// any type that has a form in JSON except one that contains itself. Struct
// tags say the rest, of arguments and of results:
//
//	desc:"text"                 what the field means, for the model
//	enum:"a,b"                  the values that it may have
//	min:"0.01" max:"9"          bounds of a number
//	minlen:"1" maxlen:"64"      bounds of a text's or a list's length
//	pattern:"^[0-9]+$"          a regular expression for a text
//	default:"x"                 of an optional argument; the handler finds it filled in
//
// For a list, enum, min, max and pattern are about its items. The host checks
// arguments against the schema before the handler runs. In a result, a list, a
// map or a pointer without omitempty may be null, as encoding/json writes nil;
// give an empty list instead, which is easier on the model.
//
// JSON is read and written by package abi/wire, as encoding/json would with
// SetEscapeHTML(false). Messages of Refuse, Logf and their kin are filled in by
// package abi/wording, as fmt would but for forms that no message needs.
//
// # How a handler ends
//
// It returns data, or an error. Refuse, BadArgument and Unavailable make the
// errors that a model can act on; an error of a host function may be returned
// as it is. Any other error counts as a passing failure of the system and is
// tried again: its text goes to the log, never to the model. A panic is
// answered as a trap, and ends the skill's use in the conversation. Nothing
// that a call wrote is kept unless it succeeds.
//
// # What a result must be
//
// The host holds every result against the output schema. Verify declares what
// else must hold, such as that the price in the result is the one that was
// asked for; Artifact declares the files or blobs that a write leaves, which
// must be there, not empty, and parse. A result that fails keeps nothing of its
// call. Examples are not held against either.
//
// # The session's state
//
// A handler reads what the host sent along by StateOf, and changes it by its
// Result: with a merge patch in State, or with an Action, out of which the
// skill's reducer makes the new state; see Reduce. An action is the better form
// where the new value follows from the old one: the reducer gets the state as it
// is when the call is kept, and the host can show how a state came about.
//
// # Policy modules
//
// A program that declares rules with Hook, and no tools, is a policy module: the
// operator names it in the host's policy, and it is asked about the calls of other
// skills and the answers of the model. It can raise a call's tier and refuse, and
// has no capabilities but its logs. See Hook and Occasion; skills/shop/rules is one.
//
// # Host functions
//
// KVGet and its kin are imports of the module, each linked in only when a
// handler reaches it, so that what a skill can do is readable from its binary.
// FactOf and StateOf read what the host sent along and cost nothing. Blobs and
// files (BlobRead, FileWrite and their kin) belong to the session, Recall and
// Remember reach what is known of the user, Progress tells them how far a call
// has come, HTTP reaches the hosts that Hosts declares.
//
// Every skill also imports sluice_block_read and sluice_block_write, which copy
// its input, output and values at once and need no grant. Built with the tag
// anyhost it moves them eight bytes at a time instead, as Extism's own libraries
// do, and runs under other hosts of Extism, too, where it uses no host function.
//
// # Life of an invocation
//
//  1. The host calls sluice_invoke; the envelope is read as an abi.Invocation.
//     One that cannot be read, or has another version, is refused (4xxx).
//  2. The tool is found by name; an unknown one is refused with the nearest.
//  3. The arguments are read strictly into a value that holds the defaults.
//     What does not fit is refused with the field's path (4xxx).
//  4. The handler runs; its panic is caught.
//  5. Its data, or the problem of its error, becomes an abi.Reply, which is
//     given back as the output. The export itself always returns 0.
//
// # Life of a question to a policy module
//
//  1. The host calls sluice_hook; the envelope is read as an abi.Occasion. The
//     export of a module that has no rule for its point ends without an opinion.
//  2. The rules of the point are asked, in the order of their declaration; a panic
//     ends the export without an opinion, which the host takes for a no.
//  3. The strictest tier, the first refusal, and everything that was said are given
//     back as one abi.Opinion.
//
// # Life of a description
//
//  1. The host calls sluice_describe, at build time. In a module that was built
//     for the second time the answer is a constant, and this ends here. A host
//     that keeps an image of another (sluice_warm) has the answer in it, made
//     once.
//  2. Names, options and limits are checked, the schemas are made from the
//     types, the examples are written as JSON.
//  3. The abi.Manifest is given back as the output, without module, sha256 and
//     size. If anything is wrong, the export returns 1 and Extism's error is
//     an abi.Problem as JSON that lists every mistake.
package sdk

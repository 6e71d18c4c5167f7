// Package egress is the one way out of a guest to the network: sluice_http and
// Extism's http_request both go through a Client. What a skill may reach is what
// its manifest names, whatever a redirect or a name server says; what nobody may
// reach is what is not public, unless the operator opened it by name.
//
// # Life of a request
//
//  1. The URL is parsed once, strictly, into one normal form: what two parsers
//     could read differently is refused, not mended. Only the normal form is
//     matched, and only the normal form is sent.
//  2. The policy, which is compiled from the manifest, must have a rule for
//     scheme, host, port, method and path. Without one nothing is looked up.
//  3. The guest's headers are checked. Those that belong to the connection, or
//     that would make the method or the path untrue, are refused.
//  4. The rule's credential is put in, for this hop only; the guest's header of
//     the same name gives way. A write gets its idempotency key.
//  5. If no kept connection to the origin is idle, the name is looked up, every
//     address of the answer is held against the closed ranges, and exactly those
//     addresses are dialled; the socket's own address is checked once more
//     before it connects. So nothing can change between check and connect.
//  6. An answer that redirects is a new request and begins at 1, a few times at
//     most: never from https to http, and without the guest's headers once
//     another origin is asked. They do not come back on the way back.
//  7. The answer is read up to a bound, in the time that is left. More than the
//     bound is a problem and not a shorter answer.
//
// Connections are kept and shared by all skills: what a connection was checked
// for, its address, is the same for all of them, and 1 to 4 are done for every
// request. Proxies of the environment are not honoured.
//
// # What the closed ranges are
//
// Everything that IANA's registries of special addresses do not call globally
// reachable, the embedded addresses of NAT64 and ISATAP, and the one public
// address that a large cloud answers on from inside; see address.go. An operator
// opens ranges in them by name (egress.allow of policy.yaml), never more than one
// closed range at once. The machine itself, link-local addresses and those at
// which clouds give their credentials away are opened one address at a time: a
// range around one does not open it. A name of
// which one address is closed is closed altogether: a name that points both
// outside and inside is a mistake or an attack, and half of a refusal would make
// the result depend on which address answers first.
package egress

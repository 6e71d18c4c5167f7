// Package airdb is the airline's data: the records as the tools answer them,
// the keys under which the airline skill keeps them in its kv namespace, the
// entries that an import of the airline's JSON files puts there, and the two
// comparisons that a replay of recorded calls needs (a tool's result, and the
// records that a run has changed).
//
// It is plain Go without the sdk, so that the skill, its tests and the command
// line share one layout. It keeps no state and reads no clock; every function
// may be called concurrently.
//
// # The layout
//
//	airports                                          code -> city
//	user/<id>                                         User
//	reservation/<id>                                  Reservation
//	flight/<number>                                   Flight: where its days are kept
//	day/<date>/<origin>/<destination>/<order>         FlightDay
//
// A day stands once, under its route, and <order> is the flight's place in
// flights.json in four digits: one scan by prefix reads a route, or all
// departures of an airport, in the order in which searches answer. A booking
// knows only the flight's number; the flight's entry leads to the day.
//
// # Life of an import
//
//  1. Entries reads airports.json, users.json, reservations.json and
//     flights.json, each bounded, and decodes them strictly: a field that the
//     records do not have would be lost when a tool writes a record back.
//  2. Every id is compared with the key that it stands under, and every
//     flight's own fields are copied to each of its days.
//  3. The caller puts the entries into kv as they come: every value is compact
//     JSON, and no key comes twice.
package airdb

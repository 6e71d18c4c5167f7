// Command airline is the skill airline.service: the fourteen tools of an
// airline's service desk, over the kv namespace "airline" in the layout of
// package airdb. It owns the airline's rules of price, payment and refund; the
// policy of who may have what is the agent's, as it is for the desk's people.
//
// # Life of a search
//
//  1. The route's entries of the date are read by one scan of their prefix, a
//     few hundred bytes for each flight.
//  2. A search with one stop scans the departures of the origin, then for
//     each airport that they reach its flights to the destination, once.
//  3. What is not available is dropped; what is left keeps the order of the
//     airline's list of flights.
//
// # Life of a booking
//
//  1. The user and an id that is still free are read.
//  2. Each flight's day is read, checked (known, date, status, seats) and
//     priced; then each payment is checked (known, balance); then the sum.
//  3. After the last check the reservation and the user are written. The host
//     commits both together with the call's outcome, or neither, which is why
//     a rerun under the same key is safe.
//
// An update and a cancellation go the same way: read, check, write.
package main

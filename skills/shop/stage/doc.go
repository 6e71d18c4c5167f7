// Shop.stage is the skill that says which product is on stage in a live shop,
// and puts another one there. It reads product/<sku> and keeps stage/current,
// which is the shop's, and live.current and live.shown, which are the session's:
// what its rules and its model know of the stage.
//
// # Life of a switch
//
//  1. The product is read; where there is none the nearest are named.
//  2. One without stock is refused, and some that are in stock are named.
//  3. The record is written, unless that product is on stage already: it keeps
//     its time, so the same call again gives the same.
//  4. The reducer makes the session's state out of the switch (show.go).
package main

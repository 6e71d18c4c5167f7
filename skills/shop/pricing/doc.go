// Shop.pricing is the skill that quotes and changes the price of one product.
// It reads and writes product/<sku>, of which it changes the price alone.
//
// # Life of a price change
//
//  1. The host fetches the fact "price" by quote; more than 30 % down, or to
//     more than three times as much, waits for a person's yes, and so does any
//     change of a price that is none.
//  2. The product is read; where there is none the nearest are named.
//  3. Currency, decimals and the product's floor are checked, in cents.
//  4. The product is written back. The same call again gives the same.
//  5. The host holds the answer against what was asked: another product, price
//     or currency than that keeps nothing.
package main

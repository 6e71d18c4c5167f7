// Shop.coupons is the skill that issues coupons and lists them. It reads
// product/<sku> and keeps coupon/<id>.
//
// # Life of a coupon
//
//  1. Its id is made from the call's idempotency key. If the same call has
//     issued it before, that coupon is the answer.
//  2. Amount and count are held against the ceilings of one call, and against
//     the price of the product that it is for, in cents.
//  3. It is written with the key.
package main

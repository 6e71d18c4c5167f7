// Package shop is what the skills of the live shop share: the products in the
// kv namespace "shop", and exact amounts of money. Each skill is a program of
// its own below this folder; beside the products they keep stage/current
// (shop.stage) and coupon/<id> (shop.coupons).
//
// # Life of a product
//
//  1. The shop writes product/<sku>; the skills read it with Load.
//  2. shop.pricing changes its price, in cents, within floor and ceiling.
//  3. shop.stage shows it, shop.coupons issues coupons below its price.
//  4. shop.rules, a policy module, has a say in what is written. What shop.broken
//     writes, which is wrong on purpose, is never kept.
package shop

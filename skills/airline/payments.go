package main

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// The airline's own prices, in dollars.
const (
	insurancePrice airdb.Money = 30 // for each passenger
	bagPrice       airdb.Money = 50 // for each bag that is not free
)

// checkPayments says whether the payments of a booking can be taken from the
// customer and add up to exactly the price. Several payments from one method
// must be covered together.
func checkPayments(u airdb.User, payments []airdb.Payment, price airdb.Money) error {
	var paid airdb.Money
	spent := map[airdb.PaymentID]airdb.Money{}
	for i, p := range payments {
		method, known := u.PaymentMethods[p.PaymentID]
		if !known {
			return sdk.Refuse(abi.NotFound, "payment method %s not found", p.PaymentID).
				WithField(at("payment_methods", i, "payment_id")).WithHint(ownMethodsHint)
		}
		if p.Amount < 0 {
			return sdk.Refuse(abi.OutOfBounds, "payment amount must not be negative, but is %s", p.Amount).
				WithField(at("payment_methods", i, "amount"))
		}
		spent[p.PaymentID] += p.Amount
		if method.Amount != nil && *method.Amount < spent[p.PaymentID] {
			return sdk.Refuse(abi.OutOfBounds, "not enough balance in payment method %s", p.PaymentID).
				WithField(at("payment_methods", i, "amount")).
				WithHint("It holds %s. Take the rest from another payment method of the customer.", *method.Amount)
		}
		paid += p.Amount
	}
	if paid != price {
		return sdk.Refuse(abi.OutOfBounds, "payment amount does not add up, total price is %s, but paid %s", price, paid).
			WithField("payment_methods").
			WithHint("The price is the fare of each flight for each passenger, %s for each passenger with insurance, and %s for each non-free bag.", insurancePrice, bagPrice)
	}
	return nil
}

// pay takes checked payments from the customer: a gift card is reduced, a
// certificate is used up whatever it holds.
func pay(u airdb.User, payments []airdb.Payment) {
	for _, p := range payments {
		switch method := u.PaymentMethods[p.PaymentID]; method.Source {
		case airdb.GiftCard:
			u.PaymentMethods[p.PaymentID] = method.Less(p.Amount)
		case airdb.Certificate:
			delete(u.PaymentMethods, p.PaymentID)
		}
	}
}

// charge takes the price of an update of r from one method of its customer, or
// gives it back if it is negative. It writes the customer and notes the payment
// in r, which the caller writes; it is the last check of an update.
func charge(c sdk.Call, r *airdb.Reservation, id airdb.PaymentID, price airdb.Money) error {
	u, err := findUser(c, r.UserID)
	if err != nil {
		return err
	}
	method, known := u.PaymentMethods[id]
	switch {
	case !known:
		return sdk.Refuse(abi.NotFound, "payment method not found").WithField("payment_id").WithHint(ownMethodsHint)
	case method.Source == airdb.Certificate:
		return sdk.Refuse(abi.NotAllowed, "certificate cannot be used to update reservation").WithField("payment_id").
			WithHint("Ask for a gift card or a credit card of the customer.")
	case method.Source == airdb.GiftCard && *method.Amount < price:
		return sdk.Refuse(abi.OutOfBounds, "gift card balance is not enough").WithField("payment_id").
			WithHint("The update costs %s and the gift card holds %s. Ask for another payment method.", price, *method.Amount)
	case price == 0:
		return nil
	}
	r.PaymentHistory = append(r.PaymentHistory, airdb.Payment{PaymentID: id, Amount: price})
	if method.Source != airdb.GiftCard {
		return nil
	}
	u.PaymentMethods[id] = method.Less(price)
	return putUser(c, r.UserID, u)
}

const ownMethodsHint = "Use a payment method of the customer; get_user_details lists them."

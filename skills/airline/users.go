package main

import (
	"fmt"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// UserDetails asks for one customer.
type UserDetails struct {
	UserID airdb.UserID `json:"user_id" desc:"The user id, such as 'sara_doe_496'."`
}

var _ = sdk.Tool("get_user_details", getUser,
	sdk.Summary("Get the details of an user, including their reservations."),
	sdk.Example("My user id is ada_park_1001.", UserDetails{"ada_park_1001"}, withCustomer(sdk.Returns(samplePark()))...),
	sdk.Example("我的用户编号是 nobody_0000", UserDetails{"nobody_0000"}, withCustomer(sdk.Refuses(abi.NotFound))...),
)

// SendCertificate asks for a certificate for one customer.
type SendCertificate struct {
	UserID airdb.UserID `json:"user_id" desc:"The ID of the user to book the reservation, such as 'sara_doe_496'."`
	Amount airdb.Money  `json:"amount" desc:"Certificate amount to send."`
}

var _ = sdk.Tool("send_certificate", sendCertificate,
	sdk.Summary("Send a certificate to a user. Be careful!"),
	sdk.Write, sdk.Idempotent, sdk.Risk(abi.SoftGate), sdk.Breadth(abi.One), sdk.Targets("[args.user_id]"),
	sdk.Example("Send ada_park_1001 a certificate of 100 dollars.", SendCertificate{"ada_park_1001", 100},
		withCustomer(sdk.Returns("Certificate certificate_3221322 added to user ada_park_1001 with amount 100."))...),
	sdk.Example("给 nobody_0000 发一张 50 美元的代金券", SendCertificate{"nobody_0000", 50}, withCustomer(sdk.Refuses(abi.NotFound))...),
	sdk.Example("Send ada_park_1001 a certificate of minus 20 dollars.", SendCertificate{"ada_park_1001", -20},
		withCustomer(sdk.Refuses(abi.OutOfBounds))...),
)

func getUser(c sdk.Call, in UserDetails) (airdb.User, error) { return findUser(c, in.UserID) }

// certificateIDs are what send_certificate gives out, for each customer anew.
func certificateIDs() []airdb.PaymentID {
	return []airdb.PaymentID{"certificate_3221322", "certificate_3221323", "certificate_3221324"}
}

func sendCertificate(c sdk.Call, in SendCertificate) (string, error) {
	u, err := findUser(c, in.UserID)
	if err != nil {
		return "", err
	}
	if in.Amount <= 0 {
		return "", sdk.Refuse(abi.OutOfBounds, "certificate amount must be more than 0, but is %s", in.Amount).WithField("amount")
	}
	for _, id := range certificateIDs() {
		if _, taken := u.PaymentMethods[id]; taken {
			continue
		}
		u.PaymentMethods[id] = airdb.PaymentMethod{Source: airdb.Certificate, Amount: &in.Amount, ID: id}
		return fmt.Sprintf("Certificate %s added to user %s with amount %s.", id, in.UserID, in.Amount), putUser(c, in.UserID, u)
	}
	return "", sdk.Refuse(abi.Conflict, "user %s already has %d certificates of this kind", in.UserID, len(certificateIDs())).
		WithField("user_id").WithHint("Transfer the customer to a human agent.")
}

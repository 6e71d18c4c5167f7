package airdb

import "strconv"

// Ids of the airline. Any text is a valid id; most are of no record.
type (
	UserID        string // such as sara_doe_496
	ReservationID string // such as ZFA04Y
	FlightNumber  string // such as HAT001
	PaymentID     string // such as credit_card_7815826
	Airport       string // IATA code, such as SFO
	Date          string // YYYY-MM-DD; anything else is a date without flights
)

// A Cabin is a class of seats: basic_economy, economy or business.
type Cabin string

// Money is an amount in US dollars.
type Money float64

// String gives the amount in plain digits without trailing zeros: 305, 12.5.
func (m Money) String() string { return strconv.FormatFloat(float64(m), 'f', -1, 64) }

// A Flight says where the days of a flight are kept; see DayKey.
type Flight struct {
	FlightNumber FlightNumber `json:"flight_number"`
	Origin       Airport      `json:"origin"`
	Destination  Airport      `json:"destination"`
	Order        int          `json:"order"` // place among all flights, from 0
}

// Available is the status of a day on which seats are sold.
const Available = "available"

// A FlightDay is one flight on one date: the flight's own fields, then those
// of the date, of which a status has its own set. Times are local times of
// day; an arrival on the next day ends in "+1".
type FlightDay struct {
	FlightNumber       FlightNumber    `json:"flight_number"`
	Origin             Airport         `json:"origin"`
	Destination        Airport         `json:"destination"`
	ScheduledDeparture string          `json:"scheduled_departure_time_est"`
	ScheduledArrival   string          `json:"scheduled_arrival_time_est"`
	Status             string          `json:"status"` // available, on time, delayed, flying, landed or cancelled
	ActualDeparture    string          `json:"actual_departure_time_est,omitempty"`
	ActualArrival      string          `json:"actual_arrival_time_est,omitempty"`
	EstimatedDeparture string          `json:"estimated_departure_time_est,omitempty"`
	EstimatedArrival   string          `json:"estimated_arrival_time_est,omitempty"`
	AvailableSeats     map[Cabin]int   `json:"available_seats,omitempty"`
	Prices             map[Cabin]Money `json:"prices,omitempty"`
	Date               Date            `json:"date,omitempty"` // only in answers that cover two dates; not stored
	Order              string          `json:"-"`              // place among all flights, sorts as text; from the key, see OrderOf
}

// A Reservation is a booked trip. Status is empty, or cancelled.
type Reservation struct {
	ID              ReservationID    `json:"reservation_id"`
	UserID          UserID           `json:"user_id"`
	Origin          Airport          `json:"origin"`
	Destination     Airport          `json:"destination"`
	FlightType      string           `json:"flight_type"` // one_way or round_trip
	Cabin           Cabin            `json:"cabin"`
	Flights         []ReservedFlight `json:"flights"`
	Passengers      []Passenger      `json:"passengers"`
	PaymentHistory  []Payment        `json:"payment_history"`
	CreatedAt       string           `json:"created_at"`
	TotalBaggages   int              `json:"total_baggages"`
	NonfreeBaggages int              `json:"nonfree_baggages"`
	Insurance       string           `json:"insurance"` // yes or no
	Status          string           `json:"status,omitempty"`
}

// Cancelled is the status of a reservation whose payments were refunded.
const Cancelled = "cancelled"

// A ReservedFlight is one flight of a reservation, with the price of one seat
// as it was when the flight was booked.
type ReservedFlight struct {
	Origin       Airport      `json:"origin"`
	Destination  Airport      `json:"destination"`
	FlightNumber FlightNumber `json:"flight_number"`
	Date         Date         `json:"date"`
	Price        Money        `json:"price"`
}

// A Passenger is a person who flies.
type Passenger struct {
	FirstName string `json:"first_name" desc:"The first name of the passenger, such as 'Noah'."`
	LastName  string `json:"last_name" desc:"The last name of the passenger, such as 'Brown'."`
	DOB       string `json:"dob" desc:"The date of birth of the passenger in the format 'YYYY-MM-DD', such as '1990-01-01'."`
}

// A Payment is an amount taken from a payment method, or given back to it if
// it is negative.
type Payment struct {
	PaymentID PaymentID `json:"payment_id" desc:"The payment id stored in user profile, such as 'credit_card_7815826', 'gift_card_7815826', 'certificate_7815826'."`
	Amount    Money     `json:"amount" desc:"The amount to be paid."`
}

// A User is a customer.
type User struct {
	Name            Name                        `json:"name"`
	Address         Address                     `json:"address"`
	Email           string                      `json:"email"`
	DOB             string                      `json:"dob"`
	PaymentMethods  map[PaymentID]PaymentMethod `json:"payment_methods"`
	SavedPassengers []Passenger                 `json:"saved_passengers"`
	Membership      string                      `json:"membership"` // regular, silver or gold
	Reservations    []ReservationID             `json:"reservations"`
}

// A Name is a customer's name.
type Name struct {
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
}

// An Address is a customer's postal address.
type Address struct {
	Address1 string `json:"address1"`
	Address2 string `json:"address2"`
	City     string `json:"city"`
	Country  string `json:"country"`
	Province string `json:"province"`
	Zip      string `json:"zip"`
}

// Sources of a payment method. A certificate is used up by one booking; a gift
// card is reduced; a credit card has no balance.
const (
	CreditCard  = "credit_card"
	GiftCard    = "gift_card"
	Certificate = "certificate"
)

// A PaymentMethod is something that a customer can pay with. Amount is the
// balance of a gift card or certificate, and nil for a credit card.
type PaymentMethod struct {
	Source   string    `json:"source"`
	Amount   *Money    `json:"amount,omitempty"`
	Brand    string    `json:"brand,omitempty"`
	LastFour string    `json:"last_four,omitempty"`
	ID       PaymentID `json:"id"`
}

// Less gives the method with amount taken from its balance, or added to it if
// amount is negative.
func (m PaymentMethod) Less(amount Money) PaymentMethod {
	left := *m.Amount - amount
	m.Amount = &left
	return m
}

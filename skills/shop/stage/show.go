package main

import (
	"slices"

	"github.com/sluicehq/sluice/sdk"
)

// maxShown bounds the products that a session remembers to have shown: those of
// the last hours, which is what a presenter may come back to.
const maxShown = 50

// Show is what a session knows of its stage; rules and the model see it.
type Show struct {
	Current *OnStage `json:"live.current"`
	Shown   []string `json:"live.shown,omitempty"` // numbers of products, each once, the latest last
}

// OnStage is the product that the session put on stage last.
type OnStage struct {
	SKU   string      `json:"sku"`
	Title string      `json:"title"`
	Since sdk.Instant `json:"since"`
}

// Switch is the action of switch_product.
type Switch OnStage

// show puts a product on stage.
func show(s Show, a Switch) (Show, error) {
	now := OnStage(a)
	s.Current = &now
	s.Shown = append(slices.DeleteFunc(s.Shown, func(sku string) bool { return sku == a.SKU }), a.SKU)
	s.Shown = s.Shown[max(0, len(s.Shown)-maxShown):]
	return s, nil
}

package dispatch

import "context"

func (f *flight) redLines(context.Context) []opinion { return nil }

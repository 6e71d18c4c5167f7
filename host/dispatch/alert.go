package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sluicehq/sluice/host"
)

// LogAlerts gives the hook that writes alerts to a log.
func LogAlerts(log *slog.Logger) host.Hook {
	return host.Hook{Name: "log alerts", Observer: true, OnAlert: func(ctx context.Context, a host.Alert) error {
		log.WarnContext(ctx, "alert", "kind", a.Kind, "tenant", a.Tenant, "count", a.Count, "within", a.Within, "session", a.Session.String(), "tool", a.Tool, "call", a.Call, "message", a.Message)
		return nil
	}}
}

// Bounds of a webhook: alerts are few, and one that is late is of little use.
const (
	webhookQueue = 256
	webhookTime  = 5 * time.Second // for one delivery
)

// A Webhook posts alerts as JSON to an address of the operator's. A call never
// waits for it: what the queue has no room for is dropped and logged, and so is
// what the address does not take. Close it in the end.
type Webhook struct {
	address string
	client  *http.Client
	log     *slog.Logger
	queue   chan host.Alert
	done    chan struct{}
	stop    context.CancelFunc
	once    sync.Once
}

// NewWebhook begins to deliver to an http or https URL. Redirects are not
// followed: an alert goes where the operator said.
func NewWebhook(address string, log *slog.Logger) (*Webhook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("the address for alerts is not an http or https URL")
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &Webhook{
		address: address, log: log, queue: make(chan host.Alert, webhookQueue), done: make(chan struct{}), stop: stop,
		client: &http.Client{Timeout: webhookTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	go w.deliver(ctx)
	return w, nil
}

// Hook gives the hook that hands alerts to the webhook.
func (w *Webhook) Hook() host.Hook {
	return host.Hook{Name: "webhook", Observer: true, OnAlert: func(_ context.Context, a host.Alert) error {
		select {
		case w.queue <- a:
			return nil
		default:
			return fmt.Errorf("the queue of %d alerts is full; the alert %q is dropped", webhookQueue, a.Kind)
		}
	}}
}

// Close stops the delivery; what is in the queue is dropped. It may be
// repeated.
func (w *Webhook) Close() {
	w.once.Do(w.stop)
	<-w.done
}

func (w *Webhook) deliver(ctx context.Context) {
	defer close(w.done)
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-w.queue:
			if err := w.post(ctx, a); err != nil {
				w.log.Warn("an alert was not delivered", "kind", a.Kind, "error", err)
			}
		}
	}
}

// post never gives the address in its error: it may hold a token.
func (w *Webhook) post(ctx context.Context, a host.Alert) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the request cannot be made")
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := w.client.Do(request)
	if err != nil {
		return fmt.Errorf("the address does not answer within %s", webhookTime)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the address answered with status %d", response.StatusCode)
	}
	return nil
}

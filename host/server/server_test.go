package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
)

// A running is a server under Serve.
type running struct {
	client *client
	stop   context.CancelFunc
	ended  <-chan error
}

func serveReal(t *testing.T, s *Server) *running {
	t.Helper()
	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Serve(ctx, ln)
		close(ended)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return &running{&client{t: t, url: "http://" + ln.Addr().String()}, stop, ended}
}

func TestAShutdownLetsRunningTurnsEndAndTakesNoMore(t *testing.T) {
	g := newGate()
	run := serveReal(t, newServer(t, g, Config{Grace: time.Minute}))
	c := run.client
	first, second := c.newSession(`{}`), c.newSession(`{}`)
	_, events := c.stream(t.Context(), first, `{"text":"hi"}`)
	<-g.asked
	run.stop()
	ready, text := http.StatusOK, ""
	for ready == http.StatusOK {
		ready, text = c.call("GET", "/readyz", "")
	}
	if ready != http.StatusServiceUnavailable || !strings.Contains(text, "stopping") {
		t.Errorf("readyz = %d %s", ready, text)
	}
	if status, text := c.call("POST", second, `{"text":"hi"}`); status != http.StatusServiceUnavailable {
		t.Errorf("a new turn = %d %s, want 503", status, text)
	}
	close(g.open)
	all := events.rest()
	if last := all[len(all)-1]; last.Event != "answer" {
		t.Errorf("the running turn ended with %+v", last)
	}
	if err := <-run.ended; err != nil {
		t.Errorf("Serve = %v", err)
	}
	if _, err := http.Get(c.url + "/healthz"); err == nil {
		t.Error("the server still listens")
	}
}

func TestATurnThatOutlastsTheGraceTimeIsStoppedAndContinuesElsewhere(t *testing.T) {
	g, store := newGate(), openStore(t)
	run := serveReal(t, serverOver(t, store, g, Config{Grace: -1}))
	turns, body := run.client.newSession(`{}`), `{"id":"1","text":"hi"}`
	_, events := run.client.stream(t.Context(), turns, body)
	<-g.asked
	run.stop()
	all := events.rest()
	if last := all[len(all)-1]; last.Event != "problem" || failureIn(t, last.Data).Problem.Code != int(abi.Cancelled) {
		t.Errorf("the turn ended with %+v", last)
	}
	if err := <-run.ended; err != nil {
		t.Errorf("Serve = %v", err)
	}
	other := serve(t, serverOver(t, store, says("Here I am."), Config{})).with("Accept", "application/json")
	status, text := other.call("POST", turns, body)
	if a := answerIn(t, text); status != http.StatusOK || a.Text != "Here I am." || a.Repeated {
		t.Errorf("elsewhere: %d %s, want the turn to go on", status, text)
	}
}

func TestADrainTellsOfTurnsThatDoNotStop(t *testing.T) {
	places, deaf := newTurns(1), make(chan struct{})
	done, _ := places.run(func(context.Context) { <-deaf })
	if problem := host.ProblemOf(places.drain(-1, 0)); problem == nil || !strings.Contains(problem.Message, "1 turns did not stop") {
		t.Errorf("drain = %v", problem)
	}
	close(deaf)
	<-done
}

func TestServeTellsOfAListenerThatBreaks(t *testing.T) {
	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if err := newServer(t, says("x"), Config{}).Serve(t.Context(), ln); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve = %v", err)
	}
}

func TestListenTakesLoopbackAddressesOnly(t *testing.T) {
	for _, tt := range []struct {
		addr string
		want abi.Code
		hint string
	}{
		{"127.0.0.1:0", 0, ""},
		{"127.8.9.10:0", 0, ""},
		{"localhost:0", 0, ""},
		{":7700", abi.BadValue, "127.0.0.1:7700"},
		{"0.0.0.0:7700", abi.BadValue, "127.0.0.1:7700"},
		{"[::]:7700", abi.BadValue, "127.0.0.1:7700"},
		{"192.168.1.10:80", abi.BadValue, "proxy"},
		{"[::ffff:10.0.0.1]:80", abi.BadValue, "proxy"},
		{"example.com:80", abi.BadValue, "proxy"},
		{"localhost.example.com:80", abi.BadValue, "proxy"},
		{"7700", abi.BadValue, "127.0.0.1:7700"},
		{"127.0.0.1:99999", abi.SystemFailure, "another port"},
	} {
		ln, err := Listen(tt.addr)
		if err == nil {
			if tcp := ln.Addr().(*net.TCPAddr); !tcp.IP.IsLoopback() {
				t.Errorf("Listen(%q) listens on %v", tt.addr, tcp)
			}
			ln.Close()
		}
		switch problem := host.ProblemOf(err); {
		case (problem != nil) != (tt.want != 0):
			t.Errorf("Listen(%q) = %v", tt.addr, err)
		case problem != nil && (problem.Code != tt.want || !strings.Contains(problem.Hint, tt.hint)):
			t.Errorf("Listen(%q) = %v, want %d and a hint with %q", tt.addr, problem, tt.want, tt.hint)
		}
	}
}

func TestListenSaysWhatToDoAboutATakenPort(t *testing.T) {
	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, err := Listen(ln.Addr().String()); host.ProblemOf(err) == nil || !strings.Contains(host.ProblemOf(err).Hint, "another port") {
		t.Errorf("Listen = %v", err)
	}
}

func TestReadyzTellsEachCheckByNameAndFailsWithTheFirstOne(t *testing.T) {
	var log buffer
	broken := errors.New("dial tcp 10.0.0.7: the secret cause")
	c := serve(t, newServer(t, says("x"), Config{Version: "1.2.3", Log: logTo(&log), Ready: []Check{
		{"store", func(context.Context) error { return nil }},
		{"registry", func(context.Context) error {
			return host.Fail("registry", abi.NewProblem(abi.RegistryFailure, "the registry does not answer"), broken)
		}},
	}}))
	status, text := c.call("GET", "/readyz", "")
	want := `{"ready":false,"version":"1.2.3","checks":[{"name":"accepting turns","ok":true},{"name":"store","ok":true},` +
		`{"name":"registry","ok":false,"problem":{"code":5008,"message":"the registry does not answer"}}]}` + "\n"
	if status != http.StatusServiceUnavailable || text != want {
		t.Errorf("readyz = %d %s, want 503 %s", status, text, want)
	}
	if !strings.Contains(log.String(), "the secret cause") {
		t.Errorf("the log does not have the cause: %s", log.String())
	}
	if status, text := c.call("GET", "/healthz", ""); status != http.StatusOK || text != `{"ok":true,"version":"1.2.3"}`+"\n" {
		t.Errorf("healthz = %d %s: the process lives", status, text)
	}
}

func TestReadyzTellsThatAHostIsDegradedAndReadyAllTheSame(t *testing.T) {
	c := serve(t, newServer(t, says("x"), Config{Version: "1.2.3", Ready: []Check{{"store", func(context.Context) error { return nil }}}, Helps: []Check{
		{"memory index", func(context.Context) error {
			return host.Fail("keeper.Ready", abi.NewProblem(abi.Unavailable, "the index of memories is being filled"), nil)
		}},
	}}))
	status, text := c.call("GET", "/readyz", "")
	want := `{"ready":true,"degraded":true,"version":"1.2.3","checks":[{"name":"accepting turns","ok":true},{"name":"store","ok":true},` +
		`{"name":"memory index","ok":false,"problem":{"code":5002,"message":"the index of memories is being filled"}}]}` + "\n"
	if status != http.StatusOK || text != want {
		t.Errorf("readyz = %d %s, want 200 %s", status, text, want)
	}
}

func TestReadyzIsGoodWhenEveryCheckIs(t *testing.T) {
	s := newServer(t, says("x"), Config{})
	s.Ready = []Check{{"store", s.Agent.Store.Ping}}
	if status, text := serve(t, s).call("GET", "/readyz", ""); status != http.StatusOK || !strings.Contains(text, `"ready":true`) {
		t.Errorf("readyz = %d %s", status, text)
	}
}

func TestACheckThatDoesNotEndIsGivenUp(t *testing.T) {
	s := newServer(t, says("x"), Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // as the check's time would
	result := s.check(ctx, Check{"slow", func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}})
	if result.OK || result.Problem.Code != abi.Cancelled {
		t.Errorf("check = %+v", result)
	}
}

func TestAPanicInAHandlerIsAHostBugAndALogLine(t *testing.T) {
	var log buffer
	c := serve(t, newServer(t, says("x"), Config{Log: logTo(&log), Ready: []Check{
		{"bad", func(context.Context) error { panic("the secret reason") }},
	}}))
	status, text := c.call("GET", "/readyz", "")
	if f := failureIn(t, text); status != http.StatusInternalServerError || f.Problem.Code != int(abi.HostBug) || strings.Contains(text, "secret") {
		t.Errorf("readyz = %d %s, want 500 and HostBug", status, text)
	}
	if !strings.Contains(log.String(), "the secret reason") || !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("the log does not say why and where: %s", log.String())
	}
}

func TestAPanicInTheMiddleOfAResponseCutsItOff(t *testing.T) {
	s := newServer(t, says("x"), Config{})
	s.mux.HandleFunc("GET /half", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.Write([]byte("half of"))
		panic("no more")
	})
	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	resp, err := http.Get("http://" + ln.Addr().String() + "/half")
	if err == nil {
		var rest [100]byte
		for err == nil {
			_, err = resp.Body.Read(rest[:])
		}
		resp.Body.Close()
	}
	if err.Error() == "EOF" {
		t.Error("half a response looks whole")
	}
	stop()
	<-ended
}

func TestAStoreThatFailsIsToldWithoutItsCause(t *testing.T) {
	var log buffer
	s := newServer(t, says("x"), Config{Log: logTo(&log)})
	c := serve(t, s)
	turns := c.newSession(`{}`)
	s.Agent.Store.Close()
	for _, path := range []string{"/v1/sessions", turns} {
		body := `{}`
		if path == turns {
			body = `{"text":"hi"}`
		}
		status, text := c.call("POST", path, body)
		if f := failureIn(t, text); status != http.StatusServiceUnavailable || f.Problem.Code != int(abi.StoreFailure) || strings.Contains(text, "sql") {
			t.Errorf("POST %s = %d %s, want 503 and StoreFailure without the cause", path, status, text)
		}
	}
	if !strings.Contains(log.String(), "sql: database is closed") {
		t.Errorf("the log does not have the cause: %s", log.String())
	}
}

func TestTheLogHasOneLineForARequestAndNothingOfItsBody(t *testing.T) {
	var log buffer
	s := newServer(t, script(func(context.Context, model.Request, func(model.Event)) (model.Reply, error) {
		return model.Reply{Text: "an answer in confidence", Finish: model.FinishStop}, nil
	}), Config{Log: logTo(&log)})
	c := serve(t, s).with("Accept", "application/json")
	turns := c.newSession(`{}`)
	c.call("POST", turns, `{"text":"a question in confidence"}`)
	c.call("POST", turns, `{"text":"a question in confidence","tekst":"in confidence"}`)
	if err := s.turns.drain(time.Minute, cancelTime); err != nil {
		t.Fatal(err)
	}
	text := log.String()
	if strings.Contains(text, "confidence") {
		t.Errorf("the log tells what was said: %s", text)
	}
	for _, want := range []string{`"route":"POST /v1/sessions/{session}/turns","status":200`, `"status":400`, `"code":4008`, `"msg":"turn"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s: %s", want, text)
		}
	}
}

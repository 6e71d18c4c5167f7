package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
)

func (p *program) chatCommand() *cobra.Command {
	var session agent.Session
	var seed string
	c := &cobra.Command{
		Use: "chat", Short: "Talk to the agent in the terminal", Args: cobra.NoArgs,
		Long: `Chat loads the newest release of every skill of the registry and reads one input a line.
The conversation is stored: the same --session goes on where it stopped. The line /clear makes the
model forget what was said; the line /mode WORD, like --mode, says how much the assistant may do by
itself: auto (what is within the rules), suggest (each change is asked for) or never (no change).
The line /object WORDS, or /object CALL WORDS, puts on record that the last change that you were told
of, or that one, was not what you wanted; to have it undone, say so.
Files of the session are read where a line names them as @path.
What a person must confirm is shown after the answer; it is answered in another terminal with
sluice approvals, and the chat goes on by itself.
End it with Ctrl-D: the session is then over for now, and what was done in it is remembered.`,
		Example: `  sluice chat --registry ./registry.git
  echo "把 1001 改到 89 元" | sluice chat --registry ./registry.git --locale zh-CN
  SLUICE_MODEL_KEY=… sluice chat --registry ./registry.git --model openai --model-url https://api.example.com/v1 --model-name NAME`,
		RunE: func(c *cobra.Command, _ []string) error {
			if session.Ref.Session == "" {
				session.Ref.Session = host.SessionID(host.NewID("session_"))
			}
			return p.chat(c.Context(), session, seed)
		},
	}
	sessionFlags(c, &session)
	p.claimsFlag(c)
	c.Flags().StringVar((*string)(&session.Ref.Session), "session", "", "the session to go on with (default: a new one)")
	c.Flags().StringVar((*string)(&session.Mode), "mode", "", "auto, suggest or never: how much the assistant may do by itself (default: as the session has it, auto for a new one)")
	c.Flags().StringVar(&seed, "seed", "", "NAMESPACE=FILE: a JSON file {key: value} that fills a kv namespace first")
	return c
}

func sessionFlags(c *cobra.Command, s *agent.Session) {
	c.Flags().StringVar((*string)(&s.Ref.Tenant), "tenant", "local", "the tenant")
	c.Flags().StringVar((*string)(&s.Ref.User), "user", "local", "the user")
	c.Flags().StringVar((*string)(&s.Live), "live", "", "the live event that the session belongs to")
	c.Flags().StringVar(&s.Locale, "locale", "", "language of notices, such as en or zh-CN")
}

func (p *program) chat(ctx context.Context, session agent.Session, seed string) (err error) {
	if problem := agent.ValidMode(session.Mode); problem != nil {
		return fmt.Errorf("%w: --mode takes auto, suggest or never", errUsage)
	}
	if err := p.validClaims(); err != nil {
		return err
	}
	m, err := p.model.open()
	if err != nil {
		return err
	}
	h, err := p.openHome(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close(ctx)) }()
	if err := p.loadAll(ctx, h); err != nil {
		return err
	}
	if err := p.remember(ctx, h); err != nil {
		return err
	}
	if seed != "" {
		namespace, file, ok := strings.Cut(seed, "=")
		if !ok {
			return fmt.Errorf("%w: --seed takes NAMESPACE=FILE", errUsage)
		}
		if err := importSeed(ctx, h, session.Ref.Tenant, namespace, file); err != nil {
			return err
		}
	}
	if !p.json {
		fmt.Fprintf(p.stderr, "session %s; end with Ctrl-D\n", session.Ref.Session)
	}
	a := p.agent(h, m)
	if session.Mode != "" {
		if err := a.SetMode(ctx, session, session.Mode); err != nil {
			return err
		}
	}
	if err := p.talk(ctx, a, session); err != nil {
		return err
	}
	if _, err := a.EndSession(ctx, session.Ref); err != nil {
		p.tell(err) // what was said is kept; what it tells of habits comes with the next end
	}
	return nil
}

// talk reads inputs line by line until the end or an interruption.
func (p *program) talk(ctx context.Context, a *agent.Agent, session agent.Session) error {
	w := &waiting{program: p, agent: a, session: session}
	w.begin(ctx)
	told := host.CallID("") // the last change that the user was told of
	for line, err := range lines(ctx, p.stdin, p.prompt, func() { w.look(ctx) }) {
		if err != nil {
			return err
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if line == "/clear" {
			if err := a.Clear(ctx, session.Ref); err != nil {
				p.tell(err)
			} else if !p.json {
				fmt.Fprintln(p.stderr, "cleared: the model does not see what was said before")
			}
			continue
		}
		if mode, ok := strings.CutPrefix(line, "/mode "); ok {
			if err := a.SetMode(ctx, session, host.Mode(strings.TrimSpace(mode))); err != nil {
				p.tell(err)
			} else if !p.json {
				fmt.Fprintln(p.stderr, "mode "+strings.TrimSpace(mode)+", from now on")
			}
			continue
		}
		if words, ok := objection(line); ok {
			p.object(ctx, a, session, told, words)
			continue
		}
		in := agent.Input{ID: host.InputID(host.NewID("input_")), Text: line}
		answer, err := a.Turn(ctx, session, in, p.show)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			p.tell(err)
			continue
		}
		told = toldOf(answer.Outcomes, told)
		p.showAnswer(answer, session.Locale)
		w.expect(answer.Pending)
	}
	return nil
}

// showAnswer prints the end of a turn, whose text was shown as it came, and
// what of it waits for a person.
func (p *program) showAnswer(answer agent.Answer, locale string) {
	if p.json {
		p.print(map[string]any{"answer": answer})
		return
	}
	if answer.Repeated {
		fmt.Fprint(p.stdout, answer.Text)
	}
	fmt.Fprintln(p.stdout)
	p.showPending(answer.Pending, locale)
}

func (p *program) showPending(refs []agent.ApprovalRef, locale string) {
	for _, ref := range refs {
		fmt.Fprint(p.stdout, speakIn(locale).pending(ref))
	}
}

// prompt asks for input where a person is typing.
func (p *program) prompt() {
	if f, ok := p.stdin.(*os.File); ok && !p.json {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			fmt.Fprint(p.stdout, "> ")
		}
	}
}

// show prints an event of a turn for people, or as JSON.
func (p *program) show(e host.Event) {
	if p.json {
		p.print(e)
		return
	}
	switch e.Kind {
	case host.EventText:
		fmt.Fprint(p.stdout, e.Text)
	case host.EventRestart:
		fmt.Fprintln(p.stdout, " …")
	case host.EventCall:
		fmt.Fprintf(p.stdout, "  → %s %s\n", e.Tool, e.Args)
	case host.EventProgress:
		fmt.Fprintf(p.stdout, "  … %s\n", progressLine(*e.Progress))
	case host.EventOutcome:
		fmt.Fprintf(p.stdout, "  ← %s\n", outcomeLine(*e.Outcome))
	case host.EventNotice, host.EventLater:
		fmt.Fprintf(p.stdout, "  ! %s\n", e.Text)
	}
}

func progressLine(r abi.ProgressReport) string {
	line := strconv.FormatInt(r.Done, 10)
	if r.Total > 0 {
		line += "/" + strconv.FormatInt(r.Total, 10)
	}
	if r.Say != "" {
		line += " " + r.Say
	}
	return line
}

func outcomeLine(o host.Outcome) string {
	switch {
	case o.Status == host.Pending && o.Problem != nil:
		return fmt.Sprintf("%s %d: %s", o.Status, o.Problem.Code, o.Problem.Message) // its hint is the model's
	case o.Problem != nil:
		return string(o.Status) + " " + o.Problem.Error()
	case o.Replayed:
		return "stored outcome: " + string(o.Data)
	case o.Preview != "":
		return o.Preview
	}
	return string(o.Data)
}

// maxLine bounds one line of input.
const maxLine = agent.MaxInputBytes

// lookEvery is how often a chat that waits for input looks for answers that
// were given elsewhere.
const lookEvery = time.Second

// lines gives the lines of r as they come; asking for the next one calls
// prompt first, and waiting for it idle, again and again. A cancelled context ends the waiting, though the reader itself
// cannot be stopped.
func lines(ctx context.Context, r io.Reader, prompt, idle func()) func(func(string, error) bool) {
	return func(yield func(string, error) bool) {
		type read struct {
			text string
			err  error
		}
		incoming := make(chan read, 1) // so that a line that nobody waits for any more holds nobody
		ask := make(chan struct{})
		defer close(ask)
		go func() {
			defer close(incoming)
			scanner := bufio.NewScanner(r)
			scanner.Buffer(nil, maxLine)
			for range ask {
				if !scanner.Scan() {
					if err := scanner.Err(); err != nil {
						incoming <- read{err: err}
					}
					return
				}
				incoming <- read{text: scanner.Text()}
			}
		}()
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for asked := false; ; {
			if !asked {
				prompt()
				select {
				case ask <- struct{}{}:
					asked = true
				case <-ctx.Done():
					return
				}
			}
			select {
			case in, ok := <-incoming:
				if !ok || !yield(in.text, in.err) || in.err != nil {
					return
				}
				asked = false
			case <-tick.C:
				idle()
			case <-ctx.Done():
				yield("", ctx.Err())
				return
			}
		}
	}
}

package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// remote is a repository behind git's smart protocol, over HTTP or SSH. It
// speaks to the transports below go-git's Remote, which takes neither a bound
// for answers nor an HTTP client of one's own without changing global state.
type remote struct {
	endpoint transport.Endpoint // over HTTP without user information
	auth     transport.AuthMethod
	client   transport.Transport
}

var _ source = (*remote)(nil)

// newRemote keeps the password of an HTTP address apart from the address, so
// that no error can quote it. SSH takes its key from the agent and the host's
// key from known_hosts.
func newRemote(endpoint *transport.Endpoint) *remote {
	r := &remote{endpoint: *endpoint, client: ssh.DefaultClient}
	if endpoint.Protocol == "ssh" {
		return r
	}
	if endpoint.User != "" || endpoint.Password != "" {
		r.auth = &githttp.BasicAuth{Username: endpoint.User, Password: endpoint.Password}
	}
	r.endpoint.User, r.endpoint.Password = "", ""
	r.client = githttp.NewClient(&http.Client{Transport: boundedTransport{http.DefaultTransport}})
	return r
}

// String gives the address without user information.
func (r *remote) String() string {
	shown := r.endpoint
	shown.User, shown.Password = "", ""
	return shown.String()
}

func (r *remote) tags(ctx context.Context) (map[string]tag, error) {
	session, err := dial(ctx, r, r.client.NewUploadPackSession)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	refs, err := session.AdvertisedReferencesContext(ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := map[string]tag{}
	for name := range refs.References {
		if strings.HasPrefix(name, tagPrefix) {
			found[name], _ = tagOf(refs, name)
		}
	}
	return found, nil
}

// tagOf gives a tag as the server announces it.
func tagOf(refs *packp.AdvRefs, name string) (tag, bool) {
	object, ok := refs.References[name]
	if commit, annotated := refs.Peeled[name]; annotated {
		return tag{object, commit}, ok
	}
	return tag{object, object}, ok
}

func (r *remote) objects(ctx context.Context, ref string, most limits, approve func(tag) error) (storer.EncodedObjectStorer, error) {
	session, err := dial(ctx, r, r.client.NewUploadPackSession)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	refs, err := session.AdvertisedReferencesContext(ctx)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return nil, errNoTag
	}
	if err != nil {
		return nil, err
	}
	found, ok := tagOf(refs, ref)
	if !ok {
		return nil, errNoTag
	}
	if err := approve(found); err != nil {
		return nil, err
	}
	request, err := wantOnly(found.object, refs.Capabilities)
	if err != nil {
		return nil, err
	}
	response, err := session.UploadPack(ctx, request)
	if err != nil {
		return nil, err
	}
	defer response.Close()
	return readPack(demuxed(response, request.Capabilities), most)
}

// wantOnly asks for one object and what it needs, without history.
func wantOnly(object plumbing.Hash, offered *capability.List) (*packp.UploadPackRequest, error) {
	if !offered.Supports(capability.Shallow) {
		return nil, host.Fail("registry", abi.NewProblem(abi.InvalidRegistry, "the git server cannot give a release without its history").
			WithHint("serve the repository with git 1.9 or newer"), nil)
	}
	request := packp.NewUploadPackRequestFromCapabilities(offered)
	request.Wants = []plumbing.Hash{object}
	request.Depth = packp.DepthCommits(1)
	for _, wanted := range []capability.Capability{capability.Shallow, capability.NoProgress} {
		if !offered.Supports(wanted) {
			continue
		}
		if err := request.Capabilities.Set(wanted); err != nil {
			return nil, fmt.Errorf("capability %s: %w", wanted, err)
		}
	}
	return request, nil
}

// demuxed takes the pack out of the channels that it shares with the server's
// messages.
func demuxed(r io.Reader, agreed *capability.List) io.Reader {
	switch {
	case agreed.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, r)
	case agreed.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, r)
	}
	return r
}

func (r *remote) create(ctx context.Context, ref string, object plumbing.Hash, objects *memory.Storage) error {
	session, err := dial(ctx, r, r.client.NewReceivePackSession)
	if err != nil {
		return err
	}
	defer session.Close()
	refs, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return err
	}
	if _, taken := refs.References[ref]; taken {
		return errTagExists
	}
	pack, err := encodePack(objects)
	if err != nil {
		return err
	}
	request := packp.NewReferenceUpdateRequestFromCapabilities(refs.Capabilities)
	// The zero id in Old has the server refuse a tag that appeared since.
	request.Commands = []*packp.Command{{Name: plumbing.ReferenceName(ref), Old: plumbing.ZeroHash, New: object}}
	request.Packfile = io.NopCloser(pack)
	report, err := session.ReceivePack(ctx, request)
	if err = accepted(report, err); err == nil {
		return nil
	}
	// How it ended only the repository knows: the answer may be lost, and
	// servers have many words for a tag that is there already.
	now, looking := r.tags(ctx)
	switch stands := now[ref].object; {
	case looking != nil || stands.IsZero():
		return err
	case stands == object:
		return nil
	}
	return errTagExists
}

func encodePack(objects *memory.Storage) (*bytes.Buffer, error) {
	ids := make([]plumbing.Hash, 0, len(objects.Objects))
	for id := range objects.Objects {
		ids = append(ids, id)
	}
	var pack bytes.Buffer
	if _, err := packfile.NewEncoder(&pack, objects, false).Encode(ids, 0); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return &pack, nil
}

// accepted reads the server's answer to a push. No answer at all is a failure.
func accepted(report *packp.ReportStatus, err error) error {
	if report == nil {
		return errors.Join(errors.New("the server did not say whether it took the release"), err)
	}
	for _, status := range report.CommandStatuses {
		if status.Error() != nil {
			return host.Fail("registry", abi.NewProblem(abi.NotAllowed, "the git server refuses the release: %.200s", status.Status).
				WithHint("its hooks or its rules for tags say no; ask who runs it"), err)
		}
	}
	return err
}

// dial opens a session. The SSH transport connects without a context, so the
// wait, but not the attempt, ends with ctx.
func dial[S transport.Session](ctx context.Context, r *remote, open func(*transport.Endpoint, transport.AuthMethod) (S, error)) (S, error) {
	type dialled struct {
		session S
		err     error
	}
	done := make(chan dialled, 1)
	endpoint := r.endpoint // a redirect changes the session's copy
	go func() {
		session, err := open(&endpoint, r.auth)
		done <- dialled{session, err}
	}()
	select {
	case d := <-done:
		return d.session, d.err
	case <-ctx.Done():
		go func() {
			if d := <-done; d.err == nil {
				_ = d.session.Close() // nobody waits for it any more
			}
		}()
		var none S
		return none, ctx.Err()
	}
}

// Bounds of what a server answers over HTTP: any release, or some 200,000 tags;
// of a failure only what an operator reads.
const (
	maxAnswerBytes  = int64(abi.ModuleBytesCeiling + maxOtherBytes + abi.MiB)
	maxFailureBytes = 4 << 10
)

// boundedTransport bounds the bodies of answers.
type boundedTransport struct {
	next http.RoundTripper
}

// RoundTrip sends a request on.
func (t boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	var body io.Reader = &bounded{response.Body, maxAnswerBytes}
	if response.StatusCode >= 300 {
		body = io.LimitReader(response.Body, maxFailureBytes)
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{body, response.Body}
	return response, nil
}

package audit

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

var (
	errSize   = errors.New("its size is not that of its checkpoint")
	errClosed = errors.New("it is closed, and the log that follows is not there")
)

// sign gives the checkpoint of a log: its origin, the size and the root of its
// tree and the time, signed.
func sign(signer note.Signer, origin string, tree tlog.Tree, at time.Time) ([]byte, error) {
	text := fmt.Sprintf("%s\n%d\n%s\ntime %s\n", origin, tree.N, tree.Hash, at.UTC().Format(time.RFC3339Nano))
	return note.Sign(&note.Note{Text: text}, signer)
}

// openCheckpoint reads the checkpoint that a log goes on from. The signature must be of
// the host's own key: it vouches for what it builds on.
func openCheckpoint(signed []byte, key string, origin string) (tlog.Tree, error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return tlog.Tree{}, err
	}
	n, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return tlog.Tree{}, err
	}
	rest, ok := strings.CutPrefix(n.Text, origin+"\n")
	if !ok {
		return tlog.Tree{}, fmt.Errorf("the checkpoint is not that of %s", origin)
	}
	var tree tlog.Tree
	var root, at string
	if _, err := fmt.Sscanf(rest, "%d\n%s\ntime %s\n", &tree.N, &root, &at); err != nil {
		return tlog.Tree{}, fmt.Errorf("the checkpoint of %s cannot be read: %w", origin, err)
	}
	tree.Hash, err = tlog.ParseHash(root)
	return tree, err
}

// damaged says that the log in the store is not what was sealed. A failure of the
// store's while it was read shows nothing of the kind, and is told as it is.
func damaged(op, origin string, cause error) error {
	var failed *host.Error
	if errors.As(cause, &failed) {
		return cause
	}
	return host.Fail(op, abi.NewProblem(abi.StoreFailure, "the audit log %s in the store is not the one that was sealed", origin).
		WithHint("stop, keep the store as it is, and look with sluice audit verify"), cause)
}

package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Bounds of a key's file: a key has some 130 bytes, and each stands for a
// rotation.
const (
	maxKeys     = 100
	maxKeyBytes = 32 << 10
)

// A Key signs checkpoints. Its private part leaves it only for its own file.
type Key struct {
	signer  note.Signer
	public  string
	private string
}

// Public gives the key's public part, as note.NewVerifier takes it.
func (k *Key) Public() string { return k.public }

// String gives the public part, so that no log can have the private one.
func (k *Key) String() string { return k.public }

// GoString does the same for %#v.
func (k *Key) GoString() string { return k.public }

// A KeyFile is the path of the file that signing keys are kept in, of mode 0600,
// one on each line; or of a link to it, as secrets are mounted. The first one signs
// logs that begin; the others are for those that have begun with them.
type KeyFile string

// Existing gives the key for logs that begin. It fails with BadValue if there is
// no file, others can read it, or it holds anything else.
func (f KeyFile) Existing() (*Key, error) {
	keys, err := f.read()
	if err != nil {
		return nil, f.fail(err)
	}
	return keys[0], nil
}

// Newest does the same, and makes the file with a new key if it is not there.
func (f KeyFile) Newest() (*Key, error) {
	keys, err := f.read()
	if errors.Is(err, fs.ErrNotExist) {
		if err = f.write(nil, os.Link); err == nil || errors.Is(err, fs.ErrExist) {
			keys, err = f.read() // of several processes one has made it
		}
	}
	if err != nil {
		return nil, f.fail(err)
	}
	return keys[0], nil
}

// For gives the key with that public part.
func (f KeyFile) For(public string) (*Key, error) {
	keys, err := f.read()
	if err != nil {
		return nil, f.fail(err)
	}
	for _, key := range keys {
		if key.public == public {
			return key, nil
		}
	}
	return nil, host.Fail("audit.KeyFile", abi.NewProblem(abi.BadValue, "the file %s has not the key of the log, %s", string(f), public).
		WithHint("give every host the same file: copy it, or name it with --audit-key"), nil)
}

// Publics gives the public parts of the file's keys, the newest first; none if
// there is no file.
func (f KeyFile) Publics() (all []string, err error) {
	keys, err := f.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, f.fail(err)
	}
	for _, key := range keys {
		all = append(all, key.public)
	}
	return all, nil
}

// Add puts a new key in front of the file's others. Of several callers at once one
// does it, and the others fail with Busy: each would write the file without the
// others' keys. A link is followed, and stays.
func (f KeyFile) Add() (*Key, error) {
	if name, err := filepath.EvalSymlinks(string(f)); err == nil {
		f = KeyFile(name)
	}
	lock, err := os.OpenFile(string(f)+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, host.Fail("audit.KeyFile", abi.NewProblem(abi.Busy, "somebody else is changing the audit log's keys in %s", string(f)).
			WithHint("try again; if nobody is at it, remove %s.lock, which a process left that was killed", string(f)), err)
	}
	if err != nil {
		return nil, f.fail(err)
	}
	defer os.Remove(lock.Name())
	defer lock.Close()
	keys, err := f.read()
	if err == nil && len(keys) == maxKeys {
		err = fmt.Errorf("it has %d keys, and takes no more", len(keys))
	}
	if err == nil {
		err = f.write(keys, os.Rename)
	}
	if err != nil {
		return nil, f.fail(err)
	}
	return f.Newest()
}

func (f KeyFile) fail(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return host.Fail("audit.KeyFile", abi.NewProblem(abi.BadValue, "there is no file %s with the audit log's keys", string(f)).
			WithHint("name the file that the serving hosts have with --audit-key; for a new store, make it once with sluice audit key and give every host the same"), err)
	}
	return host.Fail("audit.KeyFile", abi.NewProblem(abi.BadValue, "the audit log's keys in %s cannot be used", string(f)).
		WithHint("it must be a file of this user's own, of mode 0600, with a key on each line"), err)
}

func (f KeyFile) read() (keys []*Key, err error) {
	file, err := os.Open(string(f))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || info.Size() > maxKeyBytes {
		return nil, fmt.Errorf("it has mode %s and %d bytes", info.Mode(), info.Size())
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyBytes))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(strings.TrimSpace(string(text))) {
		key, err := keyOf(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || len(keys) > maxKeys {
		return nil, fmt.Errorf("it has %d keys", len(keys))
	}
	return keys, nil
}

// write writes a new key before the others. The file is whole or not there: it
// gets its name when it is on the disk, and the name is on the disk too before
// anything is signed: what a lost key has signed, nobody can go on from.
func (f KeyFile) write(others []*Key, give func(temp, name string) error) error {
	text, _, err := note.GenerateKey(rand.Reader, host.NewID("sluice.audit-"))
	if err != nil {
		return err
	}
	for _, key := range others {
		text += "\n" + key.private
	}
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(string(f)), ".audit-key-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(text + "\n")
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := give(temp.Name(), string(f)); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(string(f)))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// keyOf makes a key of its private text: "PRIVATE+KEY+name+hash+base64" of an
// algorithm's byte and the seed. Errors do not quote it.
func keyOf(private string) (*Key, error) {
	signer, err := note.NewSigner(private)
	if err != nil {
		return nil, errors.New("it is no signing key")
	}
	parts := strings.SplitN(private, "+", 5) // NewSigner has seen that there are five
	seed, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return nil, errors.New("it is no signing key")
	}
	public, err := note.NewEd25519VerifierKey(signer.Name(), ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	return &Key{signer: signer, public: public, private: private}, nil
}

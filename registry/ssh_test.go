package registry_test

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/registry"
)

func TestARegistryBehindSSH(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	address := serveSSH(t, signer)
	known := filepath.Join(t.TempDir(), "known_hosts")
	writeFile(t, known, knownhosts.Line([]string{address}, signer.PublicKey())+"\n")
	t.Setenv("SSH_KNOWN_HOSTS", known)
	t.Setenv("SSH_AUTH_SOCK", serveAgent(t, key))

	repo := filepath.Join(t.TempDir(), "repo")
	initBare(t, repo)
	url := fmt.Sprintf("ssh://git@%s%s", address, repo)
	_, err = open(t, registry.Config{URL: url}).List(t.Context(), "")
	wantProblem(t, err, abi.NotFound, "holds no release yet")

	published := publish(t, url, "shop.pricing", "1.4.0", noise(1, 100_000))
	publish(t, url, "shop.pricing", "1.5.0", noise(2, 100_000))
	release, err := fetchOne(t.Context(), open(t, registry.Config{URL: url}), "shop.pricing", "~1.4.0")
	if err != nil || release.Version != published || !bytes.Equal(release.Module, noise(1, 100_000)) {
		t.Errorf("the release is %v, %v", release, err)
	}
	_, err = registry.Publish(t.Context(), url, writeSkill(t, "shop.pricing", "1.4.0", []byte("m")), registry.PublishOptions{})
	wantProblem(t, err, abi.Conflict, "already in")

	_, err = open(t, registry.Config{URL: url + "-missing"}).List(t.Context(), "")
	wantProblem(t, err, abi.InvalidRegistry, "no git repository")

	silent := accept(t, "tcp", "127.0.0.1:0", func(net.Conn) { <-t.Context().Done() })
	_, err = open(t, registry.Config{URL: "ssh://git@" + silent + repo, Timeout: 20 * time.Millisecond}).List(t.Context(), "")
	wantProblem(t, err, abi.RegistryFailure, "no answer in time")

	writeFile(t, known, "")
	_, err = open(t, registry.Config{URL: url}).List(t.Context(), "")
	wantProblem(t, err, abi.RegistryFailure, "cannot be reached")
}

// serveAgent runs an SSH agent with one key and gives its socket.
func serveAgent(t *testing.T, key ed25519.PrivateKey) string {
	t.Helper()
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "agent") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	accept(t, "unix", socket, func(c net.Conn) { _ = agent.ServeAgent(ring, c) })
	return socket
}

// serveSSH runs an SSH server that knows git's two commands and lets in
// whoever has the key.
func serveSSH(t *testing.T, key ssh.Signer) string {
	t.Helper()
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, offered ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(offered.Marshal(), key.PublicKey().Marshal()) {
			return nil, fmt.Errorf("unknown key")
		}
		return nil, nil
	}}
	config.AddHostKey(key)
	return accept(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
		_, channels, requests, err := ssh.NewServerConn(c, config)
		if err != nil {
			return
		}
		go ssh.DiscardRequests(requests)
		for one := range channels {
			if channel, requests, err := one.Accept(); err == nil {
				go runGit(channel, requests)
			}
		}
	})
}

func accept(t *testing.T, network, address string, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(c) }()
		}
	}()
	return l.Addr().String()
}

// runGit answers one exec request, such as git-upload-pack '/path'.
func runGit(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	for request := range requests {
		if request.Type != "exec" || len(request.Payload) < 4 {
			_ = request.Reply(false, nil)
			continue
		}
		_ = request.Reply(true, nil)
		command, path, _ := strings.Cut(string(request.Payload[4:]), " ")
		cmd := exec.Command("git", strings.TrimPrefix(command, "git-"), strings.Trim(path, "'"))
		cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
		if stdin, err := cmd.StdinPipe(); err == nil {
			go func() { _, _ = io.Copy(stdin, channel); stdin.Close() }() // git may end before its input does
		}
		status := uint32(0)
		if cmd.Run() != nil {
			status = 1
		}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
		return
	}
}

package statetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// How long the server may take to begin and to end: it takes a second, and
// many times that on a machine that does much else.
const patience = 2 * time.Minute

// askTime is for one question whether the server answers: what else listens on its
// port may never say a word.
const askTime = 10 * time.Second

// User and Password are those of the server's only user that can connect. The
// password has what must be written otherwise in a URL.
const (
	User     = "sluice"
	Password = "not a secret @:/"
)

// settings make a small server that keeps what it confirms: every commit is on
// the disk.
func settings() []string {
	return []string{
		"--no-defaults", "--innodb-flush-log-at-trx-commit=1", "--skip-log-bin",
		"--innodb-buffer-pool-size=128M", "--innodb-log-file-size=96M", "--innodb-flush-method=fsync",
		"--performance-schema=OFF", "--skip-name-resolve", "--aria-log-file-size=8M", "--key-buffer-size=1M",
		"--max-connections=400", "--max-allowed-packet=128M", "--bind-address=127.0.0.1", "--innodb-buffer-pool-dump-at-shutdown=OFF",
	}
}

// A Server is a MariaDB server of the tests. Kill and Restart are for one
// goroutine at a time.
type Server struct {
	program string
	folder  string
	port    int
	log     bytes.Buffer  // of the run before, once it has ended
	ended   chan struct{} // closed when the server has; nil while it is not to run
	alive   io.Closer     // open as long as the server is to run
	named   atomic.Int64  // databases so far
}

// Start makes and starts a server, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

func start() (*Server, error) {
	program, err := findServer()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "mariadb")
	if err != nil {
		return nil, err
	}
	s := &Server{program: program, folder: folder}
	if err = s.bootstrap(); err == nil {
		err = s.beginAnywhere()
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// portTries is how many ports are tried: between the choice of one and the server's
// taking it, another process may.
const portTries = 5

func (s *Server) beginAnywhere() (err error) {
	for tries := 0; tries < portTries; tries++ {
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.begin(); err == nil || !bytes.Contains(s.log.Bytes(), []byte("Address already in use")) {
			return err
		}
	}
	return err
}

// findServer looks also where not every user's PATH leads.
func findServer() (string, error) {
	for _, name := range []string{"mariadbd", "/usr/sbin/mariadbd", "/usr/local/sbin/mariadbd"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("MariaDB's server is not installed, and the tests need it: run `make deps-mariadb`")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// bootstrap fills the data folder.
func (s *Server) bootstrap() error {
	data := filepath.Join(s.folder, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	script := "CREATE DATABASE mysql;\nUSE mysql;\n"
	for _, name := range []string{"mysql_system_tables.sql", "mysql_system_tables_data.sql"} {
		text, err := systemScript(name)
		if err != nil {
			return err
		}
		script += text
	}
	script += "FLUSH PRIVILEGES;\nCREATE USER " + User + "@'127.0.0.1' IDENTIFIED BY '" + Password + "';\nGRANT ALL ON *.* TO " + User + "@'127.0.0.1' WITH GRANT OPTION;\n"
	cmd := exec.Command(s.program, append(settings(), s.place("--bootstrap", "--skip-networking")...)...)
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("mariadbd cannot make its tables: %w\n%s", err, out)
	}
	return nil
}

func systemScript(name string) (string, error) {
	for _, folder := range []string{"/usr/share/mysql", "/usr/share/mariadb", "/usr/local/share/mysql", "/usr/local/share/mariadb"} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err == nil {
			return string(text), nil
		}
	}
	return "", fmt.Errorf("MariaDB's %s is not in its usual folders, and the tests need it: run `make deps-mariadb`", name)
}

func (s *Server) place(more ...string) []string {
	args := append(more, "--datadir="+filepath.Join(s.folder, "data"), "--tmpdir="+s.folder)
	if os.Getuid() == 0 {
		args = append(args, "--user=root")
	}
	return args
}

// guard runs the server as its child until that ends, or until its own input does,
// which is when the test program closes it or is gone.
const guard = `exec 3<&0; "$@" </dev/null 3<&- & pid=$!
{ read -r end <&3; kill -9 $pid; } >/dev/null 2>&1 &
wait $pid; kill $! 2>/dev/null`

func (s *Server) begin() error {
	args := append([]string{"-c", guard, "guard", s.program}, settings()...)
	args = append(args, s.place(fmt.Sprint("--port=", s.port), "--socket="+filepath.Join(s.folder, "socket"))...)
	s.log.Reset()
	run := exec.Command("sh", args...)
	run.Stdout, run.Stderr = &s.log, &s.log
	alive, err := run.StdinPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = run.Wait() // says only that it was killed
	}()
	s.ended, s.alive = ended, alive
	return s.wait()
}

// wait waits until the server answers, or has ended.
func (s *Server) wait() error {
	timeout := time.After(patience)
	for {
		err := s.answers()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
			continue
		case <-s.ended:
		case <-timeout:
		}
		s.Kill()
		return fmt.Errorf("mariadbd does not answer: %w\n%s", err, s.log.Bytes())
	}
}

// answers reports whether this server answers, and not another one on its port.
func (s *Server) answers() error {
	db, err := s.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	var folder string
	if err := db.QueryRowContext(ctx, "SELECT @@datadir").Scan(&folder); err != nil {
		return err
	}
	of, err := os.Stat(folder)
	if err != nil {
		return err
	}
	own, err := os.Stat(filepath.Join(s.folder, "data"))
	if err == nil && !os.SameFile(of, own) {
		err = fmt.Errorf("another server is on port %d, with its data in %s", s.port, folder)
	}
	return err
}

// Kill ends the server at once, as a power cut would. What it had confirmed is
// on the disk.
func (s *Server) Kill() {
	if s.ended == nil {
		return
	}
	s.alive.Close()
	<-s.ended
	s.ended = nil
}

// Restart starts the server again after Kill, on the same port.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	if err := s.begin(); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) stop() {
	s.Kill()
	os.RemoveAll(s.folder)
}

// Addr is the server's address.
func (s *Server) Addr() string { return fmt.Sprint("127.0.0.1:", s.port) }

// Database makes an empty database and gives its URL for state.Open. It is
// removed after the test.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprint("test", s.named.Add(1))
	if err := s.do("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.ended == nil {
			return
		}
		if err := s.do("DROP DATABASE " + name); err != nil {
			t.Error(err)
		}
	})
	return s.URL(name)
}

// URL is that of a database for state.Open. It has the password in it.
func (s *Server) URL(database string) string {
	u := url.URL{Scheme: "mysql", User: url.UserPassword(User, Password), Host: s.Addr(), Path: "/" + database}
	return u.String()
}

// Open gives plain connections to a database of a URL that Database gave, past
// the store; "" gives them to none.
func (s *Server) Open(url string) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr = User, Password, "tcp", s.Addr()
	cfg.DBName = url[strings.LastIndex(url, "/")+1:]
	cfg.MultiStatements, cfg.Logger = true, &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

func (s *Server) do(statement string) error {
	db, err := s.Open("")
	if err != nil {
		return err
	}
	_, err = db.Exec(statement)
	return errors.Join(err, db.Close())
}

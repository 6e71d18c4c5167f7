package state

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state/statetest"
)

func noEnv(string) string { return "" }

func TestAURLSaysHowTheDatabaseIsReached(t *testing.T) {
	env := func(name string) string { return map[string]string{"DB_PASSWORD": "s3cret"}[name] }
	for _, tt := range []struct{ dsn, net, addr, user, password, database, tls string }{
		{"mysql://ann@localhost/sluice", "tcp", "localhost:3306", "ann", "", "sluice", ""},
		{"mysql://ann:p%40ss%3A%2F@127.0.0.1:3307/sluice", "tcp", "127.0.0.1:3307", "ann", "p@ss:/", "sluice", ""},
		{"mysql://ann@[::1]:3307/sluice", "tcp", "[::1]:3307", "ann", "", "sluice", ""},
		{"mysql://ann@db.example.com/sluice?password_env=DB_PASSWORD", "tcp", "db.example.com:3306", "ann", "s3cret", "sluice", "db.example.com"},
		{"mysql://ann@db.example.com/sluice?tls=off", "tcp", "db.example.com:3306", "ann", "", "sluice", ""},
		{"mysql://ann@localhost/sluice?tls=verify", "tcp", "localhost:3306", "ann", "", "sluice", "localhost"},
		{"mysql://ann@/sluice?socket=/run/mysqld/mysqld.sock", "unix", "/run/mysqld/mysqld.sock", "ann", "", "sluice", ""},
	} {
		t.Run(tt.dsn, func(t *testing.T) {
			cfg, err := mysqlConfig(tt.dsn, env)
			must(t, err)
			tls := ""
			if cfg.TLS != nil {
				tls = cfg.TLS.ServerName
			}
			if cfg.Net != tt.net || cfg.Addr != tt.addr || cfg.User != tt.user || cfg.Passwd != tt.password || cfg.DBName != tt.database || tls != tt.tls {
				t.Errorf("got %s %s %s %q %s, tls %q", cfg.Net, cfg.Addr, cfg.User, cfg.Passwd, cfg.DBName, tls)
			}
			if cfg.TLS != nil && cfg.TLS.InsecureSkipVerify || cfg.AllowAllFiles || cfg.AllowCleartextPasswords {
				t.Error("something is let through that must not be")
			}
		})
	}
}

func TestAURLThatIsNotOneIsRefusedWithoutItsPassword(t *testing.T) {
	certificates := filepath.Join(t.TempDir(), "empty.pem")
	must(t, os.WriteFile(certificates, nil, 0o600))
	for name, tt := range map[string]struct{ dsn, says string }{
		"no host":              {"mysql://ann:s3cret@/sluice", "no host"},
		"no user":              {"mysql://localhost/sluice", "user"},
		"no database":          {"mysql://ann:s3cret@localhost", "database"},
		"two databases":        {"mysql://ann:s3cret@localhost/a/b", "one database"},
		"opaque":               {"mysql:ann:s3cret@localhost/sluice", "cannot be read"},
		"a broken escape":      {"mysql://ann:s3cret%zz@localhost/sluice", "cannot be read"},
		"a broken port":        {"mysql://ann:s3cret@localhost:x/sluice", "cannot be read"},
		"an unknown setting":   {"mysql://ann:s3cret@localhost/sluice?parseTime=true", "parseTime"},
		"a setting twice":      {"mysql://ann:s3cret@localhost/sluice?tls=off&tls=verify", "one value"},
		"an empty setting":     {"mysql://ann:s3cret@localhost/sluice?tls=", "one value"},
		"a semicolon":          {"mysql://ann:s3cret@localhost/sluice?tls=off;ca=x", "cannot be read"},
		"another tls":          {"mysql://ann:s3cret@localhost/sluice?tls=skip-verify", "no sense"},
		"tls off with a ca":    {"mysql://ann:s3cret@localhost/sluice?tls=off&ca=/x.pem", "no sense"},
		"a ca that is missing": {"mysql://ann:s3cret@localhost/sluice?ca=/no/such.pem", "no certificates"},
		"a ca that is empty":   {"mysql://ann:s3cret@localhost/sluice?ca=" + certificates, "no certificates"},
		"an empty variable":    {"mysql://ann@localhost/sluice?password_env=NOT_SET", "NOT_SET"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), tt.dsn, Options{Getenv: noEnv})
			problem := wantCode(t, err, abi.StoreFailure)
			if !strings.Contains(problem.Message, tt.says) || problem.Hint == "" {
				t.Errorf("says %q, hint %q", problem.Message, problem.Hint)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the password is told: %v", err)
			}
		})
	}
}

func FuzzMySQLURL(f *testing.F) {
	for _, seed := range []string{"mysql://ann:s3cret@localhost:3306/sluice?tls=off", "mysql://a@/b?socket=/c&password_env=D", "mysql:x", "mysql://%zz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		if strings.Contains(dsn, "ca=") { // would read files
			return
		}
		cfg, err := mysqlConfig(dsn, func(name string) string { return name })
		if err != nil {
			if problem := host.ProblemOf(err); problem.Code != abi.StoreFailure || problem.Hint == "" {
				t.Errorf("%q: %v", dsn, err)
			}
			return
		}
		if cfg.User == "" || cfg.DBName == "" || cfg.Addr == "" || cfg.AllowAllFiles || cfg.TLS != nil && cfg.TLS.InsecureSkipVerify {
			t.Errorf("%q gives %+v", dsn, cfg)
		}
		if _, err := url.Parse(mysqlName(cfg)); err != nil {
			t.Errorf("%q is named %q", dsn, mysqlName(cfg))
		}
	})
}

func TestOpenSaysWhatIsWrongWithTheDatabaseAndWhatToDo(t *testing.T) {
	server := mariadb.Server(t)
	good, err := url.Parse(mariadb.Database(t))
	must(t, err)
	change := func(f func(u *url.URL)) string {
		u := *good
		f(&u)
		return u.String()
	}
	for name, tt := range map[string]struct{ dsn, says, hint string }{
		"a wrong password":     {change(func(u *url.URL) { u.User = url.UserPassword(statetest.User, "s3cret") }), "does not let this user in", "password"},
		"nobody there":         {change(func(u *url.URL) { u.Host = "127.0.0.1:1" }), "cannot be reached", "check that it runs"},
		"no such database":     {server.URL("nosuch"), "no such database", "create it"},
		"a server without TLS": {change(func(u *url.URL) { u.RawQuery = "tls=verify" }), "does not prove who it is", "ca="},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), tt.dsn, Options{})
			problem := wantCode(t, err, abi.StoreFailure)
			if !strings.Contains(problem.Message, tt.says) || !strings.Contains(problem.Hint, tt.hint) || !strings.HasPrefix(problem.Message, "mysql://"+statetest.User+"@127.0.0.1:") {
				t.Errorf("says %q, hint %q", problem.Message, problem.Hint)
			}
			for _, secret := range []string{"s3cret", statetest.Password, url.QueryEscape(statetest.Password), url.PathEscape(statetest.Password)} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the password is told: %v", err)
				}
			}
		})
	}
}

func TestThePasswordComesFromTheEnvironment(t *testing.T) {
	u, err := url.Parse(mariadb.Database(t))
	must(t, err)
	u.User, u.RawQuery = url.User(statetest.User), "password_env=STORE_PASSWORD"
	s := openAt(t, u.String(), Options{Getenv: func(name string) string {
		if name != "STORE_PASSWORD" {
			t.Errorf("asked for %s", name)
		}
		return statetest.Password
	}})
	must(t, s.Ping(t.Context()))
}

func TestAServerThatTakesTooLittleAtOnceIsRefused(t *testing.T) {
	dsn := mariadb.Database(t)
	db, err := mariadb.Server(t).Open(dsn)
	must(t, err)
	defer db.Close()
	_, err = db.Exec("SET GLOBAL max_allowed_packet = 1048576")
	must(t, err)
	_, err = Open(t.Context(), dsn, Options{})
	problem := wantCode(t, err, abi.StoreFailure)
	_, reset := db.Exec("SET GLOBAL max_allowed_packet = 134217728")
	must(t, reset)
	if !strings.Contains(problem.Hint, "max_allowed_packet") {
		t.Errorf("says %q, hint %q", problem.Message, problem.Hint)
	}
}

// Ids and keys that a database with a character set takes for one another.
func TestIdsAndKeysThatLookAlikeAreDifferent(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		alike := []string{"a", "A", "a ", "á", "a\u0301", "ａ"}
		view := s.View("shop", "n")
		for _, key := range alike {
			must(t, view.Put(key, []byte(key)))
			ref := host.SessionRef{Tenant: host.TenantID(key), User: host.UserID(key), Session: host.SessionID(key)}
			must(t, s.SaveState(t.Context(), ref, Change{Key: key, Data: []byte(`"` + key + `"`)}))
			claimNew(t, s, request(ref, host.Key(key), host.CallID(key)))
		}
		must(t, settleView(t, view))
		if got := contents(t, s.View("shop", "n")); len(got) != len(alike) {
			t.Errorf("kv has %v", got)
		}
		for _, key := range alike {
			ref := host.SessionRef{Tenant: host.TenantID(key), User: host.UserID(key), Session: host.SessionID(key)}
			values, err := s.LoadState(t.Context(), ref, alike...)
			must(t, err)
			if len(values) != 1 || string(values[key].Data) != `"`+key+`"` {
				t.Errorf("session %q has %v", key, values)
			}
		}
	})
}

// The longest ids and keys fit every index, and the largest values a row.
func TestTheLongestIdsAndKeysFit(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		id, key := strings.Repeat("i", host.MaxIDBytes), strings.Repeat("é", abi.KeyBytes/2)
		ref := host.SessionRef{Tenant: host.TenantID(id), User: host.UserID(id), Session: host.SessionID(id)}
		fence, err := s.Lease(t.Context(), ref, id, MaxLeaseTime)
		must(t, err)
		req := request(ref, host.Key(id), host.CallID(id))
		req.Fence, req.Intent.Tool, req.Intent.Release = fence, key, key
		claimNew(t, s, req)
		view := s.View(ref.Tenant, id)
		must(t, view.Put(key, slices.Repeat([]byte{0xff}, int(abi.ValueBytes))))
		st := settlement(req, `"`+strings.Repeat("x", 8<<20)+`"`)
		st.Fence, st.Views, st.State = fence, []*View{view}, []Change{{Key: key, Data: []byte(`1`)}}
		must(t, s.Settle(t.Context(), st))
		got, _, err := s.View(ref.Tenant, id).Get(t.Context(), key)
		must(t, err)
		claim := wantClaim(t, s.Claim, req, ClaimDone, host.CallID(id))
		if len(got) != int(abi.ValueBytes) || got[0] != 0xff || len(claim.Outcome) != 8<<20+2 {
			t.Errorf("a value of %d bytes, an outcome of %d", len(got), len(claim.Outcome))
		}
	})
}

// Every search is by an index, also where the tables are large.
func TestMariaDBSearchesByIndex(t *testing.T) {
	s := mariadbDatabase().open(t)
	must(t, s.Import(t.Context(), "shop", "n", manyEntries(2000)))
	for i := range 4 {
		ref := host.SessionRef{Tenant: "shop", User: "ann", Session: host.SessionID(fmt.Sprint("s", i))}
		var changes []Change
		var records []host.Record
		for k := range MaxKeys {
			changes = append(changes, Change{Key: fmt.Sprint("k", k), Data: []byte(`1`)})
			records = append(records, host.Record{Session: ref, Call: host.CallID(fmt.Sprint("call", k)), Kind: host.RecordNotice})
		}
		must(t, errors.Join(s.SaveState(t.Context(), ref, changes...), s.Record(t.Context(), records...)))
		claimNew(t, s, request(ref, "key", "call"))
	}
	for _, table := range []string{"kv", "agent_session", "audit_record", "agent_claim"} {
		rows, err := s.reads.Query("ANALYZE TABLE " + table)
		must(t, err)
		must(t, rows.Close())
	}
	q := s.queries
	for _, query := range []string{
		q.stateVersion, fmt.Sprintf(q.loadState, marks(3)), q.listState, q.sessions, q.kvRow, q.kvStamp, q.kvRange, q.kvRangeKeys, q.kvRangeStamps, q.kvAny,
		q.claim, fmt.Sprintf(q.records, ""), fmt.Sprintf(q.records, " AND user_id = ? AND session_id = ?"), fmt.Sprintf(q.records, " AND call_id = ?"), fmt.Sprintf(q.newestRecords, " AND kind = ? AND tool = ?"), q.lastRecord, q.lease,
	} {
		args := make([]any, strings.Count(query, "?"))
		for i := range args {
			args[i] = []string{"shop", "ann", "s1", "k1", "k2", "k3", "call1"}[i]
			if strings.HasSuffix(query, "LIMIT ?") && i == len(args)-1 {
				args[i] = 10
			}
		}
		rows, err := s.reads.Query("EXPLAIN "+query, args...)
		must(t, err)
		var id int
		var kind, table, access, possible, key, length, ref, count, extra sql.NullString
		for rows.Next() {
			must(t, rows.Scan(&id, &kind, &table, &access, &possible, &key, &length, &ref, &count, &extra))
		}
		must(t, errors.Join(rows.Err(), rows.Close()))
		optimised := strings.Contains(extra.String, "optimized away") || strings.Contains(extra.String, "no matching row") || strings.Contains(extra.String, "Impossible WHERE noticed")
		if !optimised && (!key.Valid || access.String == "ALL" || access.String == "index" || strings.Contains(extra.String, "filesort")) {
			t.Errorf("%s\n  %s by %s, %s", query, access.String, key.String, extra.String)
		}
	}
}

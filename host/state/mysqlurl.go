package state

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

const (
	mysqlScheme = "mysql:"
	mysqlPort   = "3306"
	mysqlForm   = "give mysql://user@host:port/database?password_env=NAME"
)

// mysqlConfig reads a URL: mysql://user:password@host:port/database, where the
// port may be left out, with these settings and no others:
//
//	password_env=NAME   the password is in this environment variable
//	socket=/path        a Unix socket instead of a host
//	tls=verify          encrypted, the server's certificate checked; what hosts
//	                    other than this machine get if nothing is said
//	tls=off             in the clear; what this machine and sockets get
//	ca=/path.pem        the authorities that the certificate is checked against,
//	                    instead of the system's
//
// No error says the password.
func mysqlConfig(dsn string, getenv func(string) string) (*mysql.Config, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Opaque != "" {
		return nil, openProblem("the store's mysql: URL cannot be read").WithHint("%s; write %%40 and so on for special characters in it", mysqlForm)
	}
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = u.User.Username(), "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), mysqlPort))
	cfg.DBName = strings.TrimPrefix(u.Path, "/")
	cfg.Collation = "binary"   // texts are bytes that nobody converts
	cfg.ClientFoundRows = true // an UPDATE counts the rows that it finds, changed or not
	cfg.MaxAllowedPacket = 0   // the server's own
	cfg.Logger = &mysql.NopLogger{}
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = mysqlDial, mysqlSilence, mysqlSilence
	cfg.Passwd, _ = u.User.Password()
	settings, err := mysqlQuery(u.RawQuery)
	if err != nil {
		return nil, err
	}
	if socket := settings["socket"]; socket != "" {
		cfg.Net, cfg.Addr = "unix", socket
	}
	switch {
	case u.Hostname() == "" && cfg.Net == "tcp":
		return nil, openProblem("the store's mysql: URL has no host").WithHint(mysqlForm)
	case cfg.User == "" || cfg.DBName == "" || strings.Contains(cfg.DBName, "/"):
		return nil, openProblem("the store's mysql: URL needs a user and one database").WithHint(mysqlForm)
	}
	if name := settings["password_env"]; name != "" {
		if cfg.Passwd = getenv(name); cfg.Passwd == "" {
			return nil, openProblem("the store's password is to be in %s, which is empty", name).WithHint("set that environment variable")
		}
	}
	cfg.TLS, err = mysqlTLS(u.Hostname(), cfg.Net, settings)
	return cfg, err
}

// mysqlQuery gives the settings of a URL. One that nobody knows is refused:
// it might be meant to protect something.
func mysqlQuery(raw string) (map[string]string, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, openProblem("the settings of the store's mysql: URL cannot be read").WithHint(mysqlForm)
	}
	settings := map[string]string{}
	for name, values := range query {
		switch name {
		case "password_env", "socket", "tls", "ca":
		default:
			return nil, openProblem("the store's mysql: URL has a setting %q that is not known", name).WithHint("known are password_env, socket, tls and ca")
		}
		if len(values) != 1 || values[0] == "" {
			return nil, openProblem("the setting %s of the store's mysql: URL needs one value", name).WithHint(mysqlForm)
		}
		settings[name] = values[0]
	}
	return settings, nil
}

func mysqlTLS(hostname, network string, settings map[string]string) (*tls.Config, error) {
	mode := settings["tls"]
	if mode == "" {
		mode = "verify"
		if settings["ca"] == "" && (network == "unix" || isLoopback(hostname)) {
			mode = "off"
		}
	}
	if mode == "off" && settings["ca"] == "" {
		return nil, nil
	}
	if mode != "verify" {
		return nil, openProblem("tls=%s with the other settings of the store's mysql: URL makes no sense", mode).WithHint("give tls=verify or tls=off, and ca only with the former")
	}
	config := &tls.Config{ServerName: hostname, MinVersion: tls.VersionTLS12}
	if settings["ca"] == "" {
		return config, nil
	}
	pem, err := os.ReadFile(settings["ca"])
	config.RootCAs = x509.NewCertPool()
	if err != nil || !config.RootCAs.AppendCertsFromPEM(pem) {
		return nil, openProblem("no certificates can be read from %s", settings["ca"]).WithHint("give a file of PEM certificates as ca")
	}
	return config, nil
}

func isLoopback(hostname string) bool {
	ip := net.ParseIP(hostname)
	return hostname == "localhost" || ip != nil && ip.IsLoopback()
}

// mysqlName is the URL for messages.
func mysqlName(cfg *mysql.Config) string {
	u := url.URL{Scheme: "mysql", User: url.User(cfg.User), Host: cfg.Addr, Path: "/" + cfg.DBName}
	if cfg.Net == "unix" {
		u.Host, u.RawQuery = "", url.Values{"socket": {cfg.Addr}}.Encode()
	}
	return u.String()
}

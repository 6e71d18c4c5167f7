package state

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Settings of the connections to a database of the MySQL family.
const (
	mysqlLanes   = 16               // transactions at once: their commits share the disk's syncs inside the database
	mysqlReaders = 8                // with the lanes 24 connections for a replica: a server takes 151 by default
	mysqlDial    = 5 * time.Second  // for a connection to come about
	mysqlSilence = 30 * time.Second // for an answer, and for a statement to be taken
	mysqlIdle    = 20 * time.Second // without a word from us, after which the server gives up a connection and frees its locks
	mysqlLock    = 3 * time.Second  // wait for a lock; transactions take milliseconds
)

// minPacketBytes is what the server must take at once: a value of kv at its
// ceiling, a page of audit records, and as much again for what is around them.
const minPacketBytes = 4 * int(abi.MiB)

// mysqlSettings are said on every new connection. A locking read must see what
// is committed, and rows that are not there are locked otherwise; see lock.go.
// What does not fit a column is an error, and never cut.
func mysqlSettings() []string {
	return []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
		"SET SESSION sql_mode = 'STRICT_ALL_TABLES'",
		"SET SESSION innodb_lock_wait_timeout = " + seconds(mysqlLock),
	}
}

// mysqlIdleSetting is not said where migrations run: the connection that keeps
// their lock has nothing to say for as long as they take.
func mysqlIdleSetting() string { return "SET SESSION wait_timeout = " + seconds(mysqlIdle) }

// mysqlLaneSetting has a lane's transactions begin by themselves: one question
// less for each.
const mysqlLaneSetting = "SET SESSION autocommit = 0"

func seconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

// mysqlTable is the engine that keeps transactions, whatever the server's
// default is.
const mysqlTable = "ENGINE=InnoDB"

const mysqlClock = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"

// mysqlDialect is that of MySQL, MariaDB, TiDB and Vitess. Ids and keys are
// bytes: compared byte by byte, without a character set or trailing spaces.
func mysqlDialect() dialect {
	return dialect{
		words: strings.NewReplacer("{id}", varbinary(host.MaxIDBytes), "{key}", varbinary(abi.KeyBytes), "{bytes}", "LONGBLOB",
			"{serial}", "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY", "{clustered}", mysqlTable, "{ordered}", " "+mysqlTable+" /*T![auto_id_cache] AUTO_ID_CACHE=1 */"),
		lock:     " FOR UPDATE",
		tables:   "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
		upsert:   upsertOnDuplicate,
		now:      nowOfMySQL,
		clock:    mysqlClock,
		explain:  explainMySQL,
		rowLocks: true,
		lanes:    mysqlLanes,
		fault:    faultOfMySQL,
		taken:    takenInMySQL,
		made:     madeInMySQL,
	}
}

func varbinary(bytes int) string { return "VARBINARY(" + strconv.Itoa(bytes) + ")" }

func upsertOnDuplicate(table string, key, values []string) string {
	sets := make([]string, len(values))
	for i, column := range values {
		sets[i] = column + " = VALUES(" + column + ")"
	}
	return insertInto(table, slices.Concat(key, values)) + " ON DUPLICATE KEY UPDATE " + strings.Join(sets, ", ")
}

func nowOfMySQL(ctx context.Context, ex *executor) (time.Time, error) {
	var micros int64
	_, err := ex.row(ctx, "SELECT "+mysqlClock, nil, &micros)
	return timeOf(micros), err
}

// mysqlSource is the database of a URL; see mysqlConfig.
func mysqlSource(dsn string, getenv func(string) string) (source, error) {
	from := source{dialect: mysqlDialect()}
	cfg, err := mysqlConfig(dsn, getenv)
	if err != nil {
		return from, err
	}
	from.name = mysqlName(cfg)
	from.connect = func(ctx context.Context) (pools, error) { return openMySQL(ctx, cfg) }
	return from, nil
}

func openMySQL(ctx context.Context, cfg *mysql.Config) (p pools, err error) {
	patient := cfg.Clone() // moving a large table takes as long as it takes
	patient.ReadTimeout = 0
	var errs [3]error
	p.writes, errs[0] = mysqlPool(cfg, mysqlLanes, mysqlIdleSetting(), mysqlLaneSetting)
	p.reads, errs[1] = mysqlPool(cfg, mysqlReaders, mysqlIdleSetting())
	p.schemaPool = func() (*sql.DB, error) { return mysqlPool(patient, 2) } // one keeps the lock
	p.schema, errs[2] = p.schemaPool()
	if err := errors.Join(errs[:]...); err != nil {
		return pools{}, err
	}
	if err := checkPacket(ctx, p.schema); err != nil {
		return pools{}, errors.Join(err, p.writes.Close(), p.reads.Close(), p.schema.Close())
	}
	return p, nil
}

func mysqlPool(cfg *mysql.Config, size int, more ...string) (*sql.DB, error) {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(setConnector{connector, append(mysqlSettings(), more...)})
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	db.SetConnMaxIdleTime(mysqlIdle / 2)
	return db, nil
}

const mysqlPacket = "SELECT @@max_allowed_packet"

func checkPacket(ctx context.Context, db *sql.DB) error {
	var bytes int
	if err := db.QueryRowContext(ctx, mysqlPacket).Scan(&bytes); err != nil {
		return err
	}
	if bytes < minPacketBytes {
		return openProblem("the database takes %d bytes at once; the store needs %d", bytes, minPacketBytes).WithHint("raise its max_allowed_packet")
	}
	return nil
}

// A setConnector says some statements on every new connection.
type setConnector struct {
	driver.Connector
	settings []string
}

func (c setConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	on, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("BUG: the driver runs no statements"), conn.Close())
	}
	for _, setting := range c.settings {
		if _, err := on.ExecContext(ctx, setting, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

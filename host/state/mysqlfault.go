package state

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"os"

	"github.com/go-sql-driver/mysql"
)

func mysqlNumber(err error) uint16 {
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) {
		return 0
	}
	return refused.Number
}

// faultOfMySQL goes by the server's numbers, which MySQL, MariaDB and TiDB
// share.
func faultOfMySQL(err error) fault {
	switch mysqlNumber(err) {
	case 1205, 1213, // a lock that did not come free, a deadlock
		1062, 1020, // a key that was made meanwhile, a row that was changed meanwhile
		8002, 8022, 8028, 9007: // the same in TiDB's words
		return clashed
	case 1053, 1152, 1158, 1159, 1160, 1161, 1927, 3169, 4031: // it shuts down, the connection was idle, it was killed
		return lost
	}
	if isConnection(err) {
		return lost
	}
	return plain
}

// takenInMySQL knows a key that is there already.
func takenInMySQL(err error) bool { return mysqlNumber(err) == 1062 }

// isConnection reports whether the connection failed, and not the statement.
// ErrConnDone is what database/sql says of a lane's connection whose first statement
// after a while found it dead: it closes it, tries again, and finds it closed.
func isConnection(err error) bool {
	var network net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded)
}

// madeInMySQL knows a table, a column and an index that is there already.
func madeInMySQL(err error) bool {
	number := mysqlNumber(err)
	return number == 1050 || number == 1060 || number == 1061
}

// explainMySQL says in words what a failure of the database means.
func explainMySQL(err error) (message, hint string) {
	switch mysqlNumber(err) {
	case 1044, 1045, 1142, 1227, 1698:
		return "the database does not let this user in, or not do this", "check the user and the password, and grant it everything on the store's database"
	case 1049:
		return "there is no such database", "create it, and grant everything on it to the store's user"
	case 1040, 1203, 1226:
		return "the database has no connection left", "raise its max_connections, or run fewer replicas"
	case 1290, 1792, 1836:
		return "the database is read-only", "give the address of the one that writes"
	case 1021, 1114, 1030:
		return "the disk of the database is full or fails", "make room on it, then try again"
	case 1153, 1301, 1118:
		return "a value is larger than the database takes", "raise its max_allowed_packet, or store less at a time"
	}
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted), errors.Is(err, mysql.ErrNoTLS):
		return "the database does not prove who it is", "give its authority as ca=/path.pem; only on a network that you trust give tls=off"
	case errors.Is(err, mysql.ErrPktTooLarge):
		return "a value is larger than the database takes", "raise its max_allowed_packet, or store less at a time"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "the database does not answer", "check the database and the network, then try again"
	case faultOfMySQL(err) == lost:
		return "the database cannot be reached", "check that it runs and that its address is right, then try again"
	}
	return "the store could not do this", ""
}

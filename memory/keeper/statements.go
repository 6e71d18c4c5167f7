package keeper

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/sluicehq/sluice/host"
)

// exec gives the number of rows that the statement wrote.
func exec(ctx context.Context, on host.Statements, query string, args ...any) (int64, error) {
	result, err := on.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row scans the first row into dest and reports whether there was one.
func row(ctx context.Context, on host.Statements, query string, args []any, dest ...any) (found bool, err error) {
	err = each(ctx, on, query, args, func(rows *sql.Rows) error {
		if found {
			return nil
		}
		found = true
		return rows.Scan(dest...)
	})
	return found, err
}

// each calls take with one row after another.
func each(ctx context.Context, on host.Statements, query string, args []any, take func(rows *sql.Rows) error) error {
	rows, err := on.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := take(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// texts gives the only column of every row.
func texts[T ~string](ctx context.Context, on host.Statements, query string, args ...any) (all []T, err error) {
	err = each(ctx, on, query, args, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		all = append(all, T(text))
		return err
	})
	return all, err
}

// Lengths of the lists of ids in statements: few, so that few statements are
// prepared. A list is filled up with its last id.
const (
	shortList = 16
	longList  = 256
)

// inList gives the placeholders and the values of a list of up to longList ids.
func inList[T ~string](ids []T) (placeholders string, args []any) {
	n := shortList
	if len(ids) > shortList {
		n = longList
	}
	args = make([]any, n)
	for i := range args {
		args[i] = string(ids[min(i, len(ids)-1)])
	}
	return "(" + strings.TrimSuffix(strings.Repeat("?, ", n), ", ") + ")", args
}

// micros gives the stored form of a time: 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func timeOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

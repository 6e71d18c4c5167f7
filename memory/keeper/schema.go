package keeper

import (
	"context"
	"embed"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// wordsOf gives the words in braces of the migrations that are the keeper's own. What is
// in a detail they alone ask a database for, once.
func wordsOf(dialect string) *strings.Replacer {
	if dialect == host.SQLite {
		return strings.NewReplacer("{entity}", "TEXT", "{number}", "INTEGER PRIMARY KEY", "{engine}", "",
			"{whence}", "COALESCE(JSON_EXTRACT(CAST(detail AS TEXT), '$.source.document'), '')")
	}
	return strings.NewReplacer("{entity}", "VARBINARY("+strconv.Itoa(memory.MaxEntityBytes)+")", "{number}", "BIGINT NOT NULL PRIMARY KEY", "{engine}", "ENGINE=InnoDB",
		"{whence}", "COALESCE(JSON_UNQUOTE(JSON_EXTRACT(CONVERT(detail USING utf8mb4), '$.source.document')), '')")
}

const (
	theHead  = "SELECT head_no FROM memory_head WHERE head_no = 1"
	makeHead = "INSERT INTO memory_head (head_no, last_no, trimmed, scrub_to, scrubbed) VALUES (1, 0, 0, 0, 0)"
)

// migrate brings the keeper's tables forward to the newest version, and refuses those
// of a newer Sluice.
func (k *Keeper) migrate(ctx context.Context) error {
	err := k.db.Migrate(ctx, host.Schema{Of: "the memories", Versions: "memory_schema", Files: migrationFiles, Words: wordsOf(k.db.Dialect)})
	if err != nil {
		return err
	}
	var head int
	if found, err := row(ctx, k.db.Reads, theHead, nil, &head); err != nil || found {
		return err
	}
	return k.db.Write(ctx, func(ctx context.Context, on host.Statements) error {
		found, err := row(ctx, on, theHead, nil, &head) // another process may have been first
		if err == nil && !found {
			_, err = exec(ctx, on, makeHead)
		}
		return err
	})
}

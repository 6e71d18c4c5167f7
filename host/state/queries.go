package state

import (
	"slices"
	"strings"
)

// queries are the statements of the store, in the words of one dialect.
type queries struct {
	makeState, changeState, stateVersion, loadState, listState, sessions string

	kvRow, kvStamp, kvRange, kvRangeKeys, kvRangeStamps, kvAny, putKV, removeKV string

	kvTenant, putKVTenant string

	claim, makeClaim, takeClaim, settleClaim, releaseClaim string

	addRecord, records, newestRecords, lastRecord string

	logSize, makeLog, changeLog, logs, lastLog, logKeys, addLeaves, leaves, eraseLeaf, eraseRecord, tile, putTile string

	firstAfter, countAfter, nextTenant, tenantsSince, lastOfAll string

	lease, makeLease, changeLease, rested, changeRest string

	job, makeJob, changeJob, jobs string

	approval, lockApproval, approvalOf, openApproval, openApprovals, approvals, makeApproval, changeApproval string

	countGrants, grantsIn, grantsOf, makeGrant, removeGrant string

	readState [fewReads + 1][fewReads + 1]string // by the number of keys and of prefixes

	addDone, lastDone, lastDoneTo, doneSince string

	oldClaims, removeOldClaim, oldDone, removeOldDone, oldApprovals, removeOldApproval, oldGrants, removeOldGrant string

	stateOf, removeState, claimsOf, removeClaim, doneOf, removeDone, approvalsOf, removeApproval, grantsFor string

	live, makeLive, endLive, lives string

	owed, owedDue, putOwed, moveOwed, failOwed, removeOwed, owedDead, reviveOwed, owedOf, dropOwed string

	lockSlots, countSlots, makeLane, markLane, laneMark, staleLanes, removeLane string
}

const (
	whereSession   = " WHERE tenant_id = ? AND user_id = ? AND session_id = ?"
	stateOfSession = "SELECT state_key, version, updated_at, value FROM agent_session" + whereSession + " AND deleted = 0"
	stateRange     = " AND state_key >= ? AND state_key < ?"
	whereKV        = " FROM kv WHERE tenant_id = ? AND namespace = ?"
	ofKV           = whereKV + " AND kv_key = ?"
	rangeOfKV      = whereKV + " AND kv_key >= ? AND kv_key < ? ORDER BY kv_key LIMIT ?"
	ofLive         = " WHERE tenant_id = ? AND live_id = ?"
	ofClaim        = whereSession + " AND claim_key = ?"
	ofHolder       = ofClaim + " AND call_id = ? AND owner_id = ? AND done = 0 AND (fence = ? OR fence = 0)"
	ofUser         = " WHERE tenant_id = ? AND user_id = ?"
	approvalOf     = "SELECT tenant_id, approval_id, user_id, session_id, call_id, digest, status, asked_at, answered_at, answered_by, contrary_by, used_by, detail, words FROM agent_approval"
	grantOf        = "SELECT tenant_id, user_id, grant_id, session_id, tool, max_tier, granted_at, expires_at, granted_by, condition_text FROM agent_standing_grant"
	doneKey        = "tenant_id, user_id, session_id, tool, done_at, call_id, target"
	removeDoneRow  = "DELETE FROM agent_done" + whereSession + " AND tool = ? AND done_at = ? AND call_id = ? AND target = ?"
	claimKey       = "SELECT tenant_id, user_id, session_id, claim_key FROM agent_claim"
	grantKey       = "SELECT tenant_id, user_id, grant_id FROM agent_standing_grant"
	ofApproval     = " WHERE tenant_id = ? AND approval_id = ?"
	ofLog          = " WHERE tenant_id = ? AND log_no = ?"
	logColumns     = "SELECT log_no, tree_size, last_seq, closed, sealed_at, public_key, checkpoint, opening, closing FROM audit_log WHERE tenant_id = ? AND log_no > ? ORDER BY log_no"
	recordColumns  = "SELECT seq, recorded_at, user_id, session_id, call_id, kind, tool, release_name, claim_key, detail FROM audit_record WHERE tenant_id = ? AND seq > ?%s ORDER BY seq"
	afterSeq       = " FROM audit_record WHERE tenant_id = ? AND seq > ?"
	ofOwed         = whereSession + " AND live_id = ?"
	owedColumns    = "SELECT tenant_id, user_id, session_id, live_id, end_id, ended_at, due_at, tries, failure FROM agent_owed"
	jobColumns     = "fence, holder_id, expires_at, started_at, ended_at, next_at, failure"
)

func newQueries(d dialect) queries {
	return queries{
		makeState:    insertInto("agent_session", []string{"version", "deleted", "updated_at", "value", "tenant_id", "user_id", "session_id", "state_key"}),
		changeState:  "UPDATE agent_session SET version = ?, deleted = ?, updated_at = ?, value = ?" + whereSession + " AND state_key = ?",
		stateVersion: "SELECT version, deleted FROM agent_session" + whereSession + " AND state_key = ?" + d.lock,
		loadState:    stateOfSession + " AND state_key IN (%s)",
		listState:    stateOfSession + stateRange + " ORDER BY state_key LIMIT ?",
		readState:    newReadState(),
		sessions:     "SELECT DISTINCT session_id FROM agent_session WHERE tenant_id = ? AND user_id = ? AND session_id > ? AND deleted = 0 ORDER BY session_id LIMIT ?",

		kvRow:         "SELECT stamp, deleted, value" + ofKV,
		kvStamp:       "SELECT stamp" + ofKV,
		kvRange:       "SELECT kv_key, stamp, deleted, value" + rangeOfKV,
		kvRangeKeys:   "SELECT kv_key, stamp, deleted" + rangeOfKV,
		kvRangeStamps: "SELECT kv_key, stamp" + whereKV + " AND kv_key >= ? AND kv_key < ? ORDER BY kv_key LIMIT ?",
		kvAny:         "SELECT stamp FROM kv WHERE tenant_id = ? LIMIT 1",
		putKV:         d.upsert("kv", []string{"tenant_id", "namespace", "kv_key"}, []string{"stamp", "deleted", "value"}),
		removeKV:      "DELETE" + ofKV,

		kvTenant:    "SELECT parent_id, depth, sealed FROM kv_tenant WHERE tenant_id = ?",
		putKVTenant: d.upsert("kv_tenant", []string{"tenant_id"}, []string{"parent_id", "depth", "sealed"}),

		claim: "SELECT digest, call_id, done, lease_until, fence, outcome FROM agent_claim" + ofClaim + d.lock,
		makeClaim: insertInto("agent_claim", []string{"tenant_id", "user_id", "session_id", "claim_key", "digest", "call_id", "owner_id", "done", "lease_until",
			"updated_at", "fence", "outcome"}),
		takeClaim:    "UPDATE agent_claim SET call_id = ?, owner_id = ?, lease_until = ?, updated_at = ?, fence = ?" + ofClaim + " AND done = 0",
		settleClaim:  "UPDATE agent_claim SET done = 1, lease_until = 0, updated_at = ?, outcome = ?" + ofHolder,
		releaseClaim: "DELETE FROM agent_claim" + ofHolder,

		addRecord:     "INSERT INTO audit_record (recorded_at, tenant_id, user_id, session_id, call_id, kind, tool, release_name, claim_key, detail) VALUES (" + marks(10) + ")",
		records:       recordColumns + " LIMIT ?",
		newestRecords: recordColumns + " DESC LIMIT ?",
		lastRecord:    "SELECT MAX(seq) FROM audit_record WHERE tenant_id = ?",

		logSize:     "SELECT tree_size, closed FROM audit_log" + ofLog + d.lock,
		makeLog:     insertInto("audit_log", []string{"tenant_id", "log_no", "tree_size", "last_seq", "closed", "sealed_at", "public_key", "checkpoint", "opening", "closing"}),
		changeLog:   "UPDATE audit_log SET tree_size = ?, last_seq = ?, closed = ?, sealed_at = ?, checkpoint = ?, closing = ?" + ofLog,
		logs:        logColumns + " LIMIT ?",
		lastLog:     logColumns + " DESC LIMIT ?",
		logKeys:     "SELECT DISTINCT public_key FROM audit_log WHERE closed = 0",
		addLeaves:   "INSERT INTO audit_leaf (tenant_id, seq, log_no, leaf_no, erased, secret) VALUES %s",
		leaves:      "SELECT seq, log_no, leaf_no, erased, secret FROM audit_leaf WHERE tenant_id = ? AND seq > ? ORDER BY seq LIMIT ?",
		eraseLeaf:   "UPDATE audit_leaf SET erased = 1, secret = ? WHERE tenant_id = ? AND seq = ? AND erased = 0",
		eraseRecord: "UPDATE audit_record SET user_id = '', session_id = '', call_id = '', tool = '', claim_key = '', detail = ? WHERE tenant_id = ? AND seq = ?",
		tile:        "SELECT hashes FROM audit_tile" + ofLog + " AND tile_level = ? AND tile_no = ?",
		putTile:     d.upsert("audit_tile", []string{"tenant_id", "log_no", "tile_level", "tile_no"}, []string{"hashes"}),

		firstAfter:   "SELECT recorded_at" + afterSeq + " ORDER BY seq LIMIT 1",
		countAfter:   "SELECT COUNT(*) FROM (SELECT seq" + afterSeq + " LIMIT ?) AS behind",
		nextTenant:   "SELECT tenant_id FROM audit_record WHERE tenant_id > ? ORDER BY tenant_id LIMIT 1",
		tenantsSince: "SELECT tenant_id, seq FROM audit_record WHERE seq > ? ORDER BY seq LIMIT ?",
		lastOfAll:    "SELECT MAX(seq) FROM audit_record",

		lease:       "SELECT fence, holder_id, expires_at, rested_at, " + d.clock + " FROM agent_lease" + whereSession + d.lock,
		makeLease:   insertInto("agent_lease", []string{"fence", "holder_id", "expires_at", "rested_at", "tenant_id", "user_id", "session_id"}),
		changeLease: "UPDATE agent_lease SET fence = ?, holder_id = ?, expires_at = ?, rested_at = ?" + whereSession,
		rested:      "SELECT tenant_id, user_id, session_id, rested_at FROM agent_lease WHERE rested_at > 0 AND rested_at < ? ORDER BY rested_at LIMIT ?",
		changeRest:  "UPDATE agent_lease SET rested_at = ?" + whereSession + " AND rested_at = ?",

		job:       "SELECT " + jobColumns + ", " + d.clock + " FROM store_job WHERE job_id = ?" + d.lock,
		makeJob:   insertInto("store_job", []string{"fence", "holder_id", "expires_at", "started_at", "ended_at", "next_at", "failure", "job_id"}),
		changeJob: "UPDATE store_job SET fence = ?, holder_id = ?, expires_at = ?, started_at = ?, ended_at = ?, next_at = ?, failure = ? WHERE job_id = ?",
		jobs:      "SELECT job_id, " + jobColumns + " FROM store_job WHERE job_id > ? ORDER BY job_id LIMIT ?",

		approval:      approvalOf + ofApproval,
		lockApproval:  approvalOf + ofApproval + d.lock,
		approvalOf:    approvalOf + whereSession + " AND digest = ? ORDER BY approval_id DESC LIMIT 1",
		openApproval:  approvalOf + whereSession + " AND digest = ? AND status = ? ORDER BY approval_id DESC LIMIT 1",
		openApprovals: "SELECT approval_id FROM agent_approval" + whereSession + " AND status = ? LIMIT ?",
		approvals:     approvalOf + " WHERE tenant_id = ? AND approval_id > ?%s ORDER BY approval_id LIMIT ?",
		makeApproval: insertInto("agent_approval", []string{"tenant_id", "approval_id", "user_id", "session_id", "call_id", "digest", "status",
			"asked_at", "answered_at", "closed_at", "answered_by", "contrary_by", "used_by", "detail", "words"}),
		changeApproval: "UPDATE agent_approval SET status = ?, answered_at = ?, closed_at = ?, answered_by = ?, contrary_by = ?, used_by = ?, words = ?" + ofApproval,

		countGrants: "SELECT grant_id FROM agent_standing_grant" + ofUser + " AND (expires_at = 0 OR expires_at > ?) LIMIT ?",
		grantsIn:    grantOf + ofUser + " AND (session_id = '' OR session_id = ?) AND (expires_at = 0 OR expires_at > ?) ORDER BY grant_id LIMIT ?",
		grantsOf:    grantOf + ofUser + " AND grant_id > ? ORDER BY grant_id LIMIT ?",
		makeGrant: insertInto("agent_standing_grant", []string{"tenant_id", "user_id", "grant_id", "session_id", "tool", "max_tier",
			"granted_at", "expires_at", "granted_by", "condition_text"}),
		removeGrant: "DELETE FROM agent_standing_grant" + ofUser + " AND grant_id = ?",

		addDone:    "INSERT INTO agent_done (" + doneKey + ", args, data) VALUES (" + marks(9) + ")",
		lastDone:   "SELECT call_id, done_at, args, data, " + d.clock + " FROM agent_done" + whereSession + " AND tool = ? ORDER BY done_at DESC LIMIT 1",
		lastDoneTo: "SELECT call_id, done_at, args, data, " + d.clock + " FROM agent_done" + whereSession + " AND tool = ? AND target = ? ORDER BY done_at DESC LIMIT 1",
		doneSince:  "SELECT call_id FROM agent_done" + whereSession + " AND tool = ? AND done_at >= ? ORDER BY done_at DESC LIMIT ?",

		oldClaims:         claimKey + " WHERE done = 1 AND updated_at < ? ORDER BY updated_at LIMIT ?",
		removeOldClaim:    "DELETE FROM agent_claim" + ofClaim + " AND done = 1 AND updated_at < ?",
		oldDone:           "SELECT " + doneKey + " FROM agent_done WHERE done_at < ? ORDER BY done_at LIMIT ?",
		removeOldDone:     removeDoneRow + " AND done_at < ?",
		oldApprovals:      "SELECT tenant_id, approval_id FROM agent_approval WHERE closed_at > 0 AND closed_at < ? ORDER BY closed_at LIMIT ?",
		removeOldApproval: "DELETE FROM agent_approval" + ofApproval + " AND closed_at > 0 AND closed_at < ?",
		oldGrants:         grantKey + " WHERE expires_at > 0 AND expires_at < ? ORDER BY expires_at LIMIT ?",
		removeOldGrant:    "DELETE FROM agent_standing_grant" + ofUser + " AND grant_id = ? AND expires_at > 0 AND expires_at < ?",

		stateOf:        "SELECT tenant_id, user_id, session_id, state_key FROM agent_session" + whereSession + " LIMIT ?",
		removeState:    "DELETE FROM agent_session" + whereSession + " AND state_key = ?",
		claimsOf:       claimKey + whereSession + " LIMIT ?",
		removeClaim:    "DELETE FROM agent_claim" + ofClaim,
		doneOf:         "SELECT " + doneKey + " FROM agent_done" + whereSession + " LIMIT ?",
		removeDone:     removeDoneRow,
		approvalsOf:    "SELECT tenant_id, approval_id FROM agent_approval" + whereSession + " LIMIT ?",
		removeApproval: "DELETE FROM agent_approval" + ofApproval,
		grantsFor:      grantKey + whereSession + " LIMIT ?",

		live:     "SELECT live_id, started_at, ended_at, detail FROM agent_live" + ofLive,
		makeLive: insertInto("agent_live", []string{"started_at", "ended_at", "detail", "tenant_id", "live_id"}),
		endLive:  "UPDATE agent_live SET ended_at = ?" + ofLive + " AND ended_at = 0",
		lives:    "SELECT live_id, started_at, ended_at, detail FROM agent_live WHERE tenant_id = ? AND live_id > ? ORDER BY live_id LIMIT ?",

		owed:       owedColumns + ofOwed,
		owedDue:    owedColumns + " WHERE due_at >= ? AND due_at <= ? ORDER BY due_at LIMIT ?",
		putOwed:    d.upsert("agent_owed", []string{"tenant_id", "user_id", "session_id", "live_id"}, []string{"end_id", "ended_at", "due_at", "tries", "failure"}),
		moveOwed:   "UPDATE agent_owed SET due_at = ?, tries = ?" + ofOwed + " AND end_id = ? AND tries = ?",
		failOwed:   "UPDATE agent_owed SET failure = ?" + ofOwed + " AND end_id = ?",
		removeOwed: "DELETE FROM agent_owed" + ofOwed + " AND end_id = ?",
		owedDead:   "SELECT tenant_id, user_id, session_id, live_id FROM agent_owed WHERE due_at = 0 LIMIT ?",
		reviveOwed: "UPDATE agent_owed SET due_at = ended_at, tries = 0" + ofOwed + " AND due_at = 0",
		owedOf:     "SELECT tenant_id, user_id, session_id, live_id FROM agent_owed" + whereSession + " LIMIT ?",
		dropOwed:   "DELETE FROM agent_owed" + ofOwed,

		lockSlots:  "INSERT INTO tenant_slot (tenant_id, slot) VALUES %s ON DUPLICATE KEY UPDATE slot = VALUES(slot)",
		countSlots: "SELECT COUNT(*) FROM tenant_slot WHERE tenant_id = ?",
		makeLane:   d.upsert("store_lane", []string{"lane_id"}, []string{"mark", "used_at"}),
		markLane:   "UPDATE store_lane SET mark = ? WHERE lane_id = ?",
		laneMark:   "SELECT mark FROM store_lane WHERE lane_id = ?" + d.lock,
		staleLanes: "SELECT lane_id FROM store_lane WHERE used_at < ? LIMIT ?",
		removeLane: "DELETE FROM store_lane WHERE lane_id = ?",
	}
}

// newReadState makes the statements that read a few keys and prefixes at once.
// SQLite makes a table for a list of keys, which takes longer than to look for
// each of them.
func newReadState() (queries [fewReads + 1][fewReads + 1]string) {
	for keys := range queries {
		for prefixes := range queries[keys] {
			parts := slices.Concat(slices.Repeat([]string{stateOfSession + " AND state_key = ?"}, keys), slices.Repeat([]string{stateOfSession + stateRange}, prefixes))
			if len(parts) > 0 {
				queries[keys][prefixes] = strings.Join(parts, " UNION ALL ") + " LIMIT ?"
			}
		}
	}
	return queries
}

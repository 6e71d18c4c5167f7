package abi

// A Code names a kind of problem. The thousands are its class, which decides
// what the host does by itself; see Codes for one row each. Codes are only
// ever added.
type Code int

// Host verdicts (1xxx).
const (
	PendingApproval Code = 1001 // a person must answer first
	RedLine         Code = 1002 // a platform rule blocks the call
	Rejected        Code = 1003 // the user said no
	BreakerOpen     Code = 1004 // repeated calls without progress
	OverBudget      Code = 1005 // steps, tokens, money or calls are used up
	InFlight        Code = 1006 // the same write is running elsewhere
	OutcomeUnknown  Code = 1007 // the same write began and its end was never seen
	Cancelled       Code = 1008 // the caller went away or stopped the turn
	Circling        Code = 1009 // repeated again after the breaker's warning; the turn stops
)

// Business (3xxx). 3100 to 3999 belong to the skills.
const (
	Refused      Code = 3000 // the business says no, without a code of its own
	OutOfBounds  Code = 3001 // a value that the business does not accept
	NotAllowed   Code = 3002 // this user, this shop, this moment
	Conflict     Code = 3003 // the thing changed or is taken
	NotFound     Code = 3004 // no such thing
	OutOfFuel    Code = 3005 // too much work: the same again would fail the same
	OutOfMemory  Code = 3006 // too much memory: likewise
	OutputLimit  Code = 3007 // more output than the call may give
	QuotaReached Code = 3008 // too many keys, bytes or host calls in one call
	BadArtifact  Code = 3009 // a file that the call says it wrote is not there, or not what it is to be
	SkillRefused Code = 3100 // first code of the skills' own range
)

// Arguments (4xxx).
const (
	BadArguments  Code = 4000 // arguments that do not fit, in general
	NotJSON       Code = 4001 // not JSON, or cut off in the middle
	WrongType     Code = 4002 // a value of another type
	Missing       Code = 4003 // a required field is not there
	UnknownTool   Code = 4004 // no such tool
	OutOfScope    Code = 4005 // not this tool's business
	InputLimit    Code = 4006 // arguments larger than the call may take
	BadValue      Code = 4007 // right type, value outside enum, range, pattern or length
	UnknownField  Code = 4008 // a field that the schema does not have
	BadHostCall   Code = 4009 // a guest gave a host function something malformed
	NotGranted    Code = 4010 // a guest asked for what its manifest does not declare
	CutOff        Code = 4011 // the model's output ended inside the arguments
	AmbiguousTool Code = 4012 // the name fits several tools
	ClosedAddress Code = 4013 // a host is at an address that is not public, and the operator has not opened it
)

// System (5xxx).
const (
	SystemFailure     Code = 5000 // the host could not, for a passing reason
	Deadline          Code = 5001 // the call took too long
	Unavailable       Code = 5002 // a service that the skill needs does not answer
	StoreConflict     Code = 5003 // another call changed what this one had read
	StoreFailure      Code = 5004 // the store could not be read or written
	Busy              Code = 5005 // another replica works on this session
	ModelUnavailable  Code = 5006 // the model cannot be reached
	ModelInterrupted  Code = 5007 // the model stopped in the middle of its answer
	RegistryFailure   Code = 5008 // the registry cannot be reached or read
	ModelUnauthorised Code = 5009 // the model refuses the key; retrying does not help
	ModelRejected     Code = 5010 // the model refuses the request; retrying does not help
)

// Unrecoverable (9xxx).
const (
	Broken          Code = 9000 // broken, without a code of its own
	Trap            Code = 9001 // the guest trapped or its handler panicked
	CorruptModule   Code = 9002 // not WebAssembly, truncated or invalid
	BrokenContract  Code = 9003 // an answer that is not an envelope
	BrokenOutput    Code = 9004 // data that breaks the tool's output schema
	GuestExit       Code = 9005 // the guest ended its process or returned non-zero
	UnknownImport   Code = 9006 // the module imports what the host does not have
	MissingExport   Code = 9007 // the module lacks an export of the contract
	ModuleTooLarge  Code = 9008 // larger than a module may be
	DigestMismatch  Code = 9009 // not the bytes that were published
	InvalidManifest Code = 9010 // skill.yaml cannot be used
	InvalidRegistry Code = 9011 // not a registry, or a release that is not one
	HostBug         Code = 9012 // the host broke a promise of its own
	Contradicted    Code = 9013 // data that do not agree with what was asked for, or with what is known
)

// A Class is the thousands of a code.
type Class int

// The five classes.
const (
	ClassVerdict   Class = 1
	ClassBusiness  Class = 3
	ClassArguments Class = 4
	ClassSystem    Class = 5
	ClassBroken    Class = 9
)

// Class gives the class of a code. A code outside every class counts as
// ClassBroken: an unknown failure is never retried.
func (c Code) Class() Class {
	switch k := Class(c / 1000); k {
	case ClassVerdict, ClassBusiness, ClassArguments, ClassSystem:
		return k
	}
	return ClassBroken
}

// OfSkill reports whether a skill may answer with c. The host's verdicts are
// not a skill's to give.
func (c Code) OfSkill() bool {
	switch c.Class() {
	case ClassBusiness, ClassArguments:
		return true
	case ClassSystem:
		return c <= Unavailable
	}
	return c == Trap
}

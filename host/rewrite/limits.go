package rewrite

import "github.com/sluicehq/sluice/abi"

// Bounds of what is read. A list is never allocated by the count that a module
// claims, only by what its bytes can hold; these bounds keep the product of
// counts, and the work of the engine after us, within reason. Where nothing
// else is said the number is the limit that browsers agreed on (WebAssembly
// JavaScript Interface, "Implementation-defined Limits") or a tenth of it.
const (
	maxModuleBytes = int(abi.ModuleBytesCeiling) // what a host may be set to take
	// A frozen module holds its memory as data and is larger than its original
	// by at most the memory that a skill may have.
	maxFrozenBytes = maxModuleBytes + int(512*abi.MiB)

	maxTypes       = 100_000    // Go needs some hundred
	maxImports     = 10_000     // a skill needs some dozen
	maxFunctions   = 200_000    // a large Go program has 20,000
	maxTables      = 100        // toolchains make one
	maxMemories    = 100        // all but one are refused, by name
	maxGlobals     = 100_000    // position-independent C makes some thousand
	maxExports     = 100_000    // likewise
	maxElements    = 100_000    // segments; Go makes one
	maxData        = 100_000    // segments; Go makes some hundred
	maxNameBytes   = 100_000    // of one import, export or section
	maxParams      = 1_000      // of one type
	maxResults     = 1_000      // of one type
	maxBodyBytes   = 7_654_321  // of one function
	maxLocals      = 50_000     // of one function
	maxNesting     = 50_000     // blocks in blocks; Go opens one for each place to resume at
	maxBranches    = 65_520     // of one br_table
	maxMemoryPages = 65_536     // what 32 bits reach
	maxTableItems  = 10_000_000 // at the start
	maxGrownItems  = 1 << 20    // of all tables that grow: 8 MiB
	maxNamesBytes  = 16 << 20   // of the name section; a larger one is left out
	maxCustom      = 1_000      // sections
	maxSelectTypes = 1          // of one select; the format leaves room for more
	maxConstantOps = 1          // of one constant expression, before its end
	maxDepth       = 1 << 40    // of MeterOptions.Depth; far beyond any stack
)

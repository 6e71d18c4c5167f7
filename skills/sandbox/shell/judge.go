package main

import (
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/sandbox/shell/text"
	"mvdan.cc/sh/v3/syntax"
)

// A judgement is what the tree of a script tells before it runs.
type judgement struct {
	script   string
	commands []string        // what would run, for people
	set      map[string]bool // variables that the script itself sets
	err      *abi.Problem
}

// judge looks through all of a tree. What it does not know, it refuses.
func judge(script string, file *syntax.File) (*judgement, error) {
	j := &judgement{script: script, set: map[string]bool{"IFS": true}}
	j.walk(file, func(node syntax.Node) *abi.Problem {
		j.sets(node)
		return nil
	})
	j.walk(file, j.node)
	if j.err != nil {
		return nil, j.err
	}
	return j, nil
}

// maxDepth bounds the tree: a pipe has two levels for each command.
const maxDepth = 250

// walk does something with every node, until there is a problem.
func (j *judgement) walk(file *syntax.File, do func(syntax.Node) *abi.Problem) {
	depth := 0
	syntax.Walk(file, func(node syntax.Node) bool {
		if node == nil {
			depth--
			return true
		}
		if depth++; j.err == nil && depth > maxDepth {
			j.err = refused(node.Pos(), "Do it in several steps.", "the script is nested too deeply")
		}
		if j.err == nil {
			j.err = do(node)
		}
		if j.err != nil {
			depth-- // Walk does not tell the end of what it does not enter
		}
		return j.err == nil
	})
}

// sets notes the variables that a node sets.
func (j *judgement) sets(node syntax.Node) {
	switch n := node.(type) {
	case *syntax.Assign:
		if n.Name != nil {
			j.set[n.Name.Value] = true
		}
	case *syntax.WordIter:
		j.set[n.Name.Value] = true
	case *syntax.CallExpr:
		if name, ok := firstWord(n); ok && name == "read" {
			for _, w := range n.Args[1:] {
				if name, ok := literalOf(w); ok {
					j.set[name] = true
				}
			}
		}
	case *syntax.ParamExp:
		if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) && n.Param != nil {
			j.set[n.Param.Value] = true
		}
	case *syntax.BinaryArithm:
		if isAssignment(n.Op) {
			j.set[arithmName(n.X)] = true
		}
	case *syntax.UnaryArithm:
		if n.Op == syntax.Inc || n.Op == syntax.Dec {
			j.set[arithmName(n.X)] = true
		}
	}
}

func firstWord(c *syntax.CallExpr) (string, bool) {
	if len(c.Args) == 0 {
		return "", false
	}
	return literalOf(c.Args[0])
}

func arithmName(x syntax.ArithmExpr) string {
	w, _ := x.(*syntax.Word)
	name, _ := literalOf(w)
	return name
}

const simpler = "Write simple commands, pipes, &&, ||, ;, if, for, while, case, $(...) and $((...)) only."

// node judges one node; what stands in it comes by itself.
func (j *judgement) node(node syntax.Node) *abi.Problem {
	switch n := node.(type) {
	case *syntax.Stmt:
		if n.Background || n.Coprocess || n.Disown {
			return refused(n.Pos(), "Run one command after the other, with ; or a pipe.", "a script runs nothing in the background (&)")
		}
		return nil
	case *syntax.CallExpr:
		return j.call(n)
	case *syntax.Assign:
		if n.Index != nil || n.Array != nil || n.Naked || n.Name == nil {
			return refused(n.Pos(), "Keep one value in each variable, or loop over lines with while read.", "arrays are not known here")
		}
		return nil
	case *syntax.Redirect:
		return redirect(n)
	case *syntax.Word:
		return word(n)
	case *syntax.ParamExp:
		return j.parameter(n)
	case *syntax.ForClause:
		if words, ok := n.Loop.(*syntax.WordIter); !ok || n.Select || !words.InPos.IsValid() {
			return refused(n.Pos(), "Write for x in a b c; do ...; done, or for i in $(seq 1 10); do ...; done.", "of loops with for, only those over words are known here")
		}
		return nil
	case *syntax.CaseItem:
		if n.OpPos.IsValid() && n.Op != syntax.Break {
			return refused(n.OpPos, "End each branch with ;; .", "branches that fall through are not known here")
		}
		return nil
	case *syntax.UnaryTest:
		if n.Op != syntax.TsNot && n.Op != syntax.TsEmpStr && n.Op != syntax.TsNempStr {
			return refused(n.Pos(), "Test texts and numbers: -z, -n, ==, =~, -eq, -lt.", "%s tests what is not here: there are no files", n.Op.String())
		}
		return nil
	case *syntax.BinaryTest:
		if n.Op == syntax.TsNewer || n.Op == syntax.TsOlder || n.Op == syntax.TsDevIno {
			return refused(n.Pos(), "Test texts and numbers: -z, -n, ==, =~, -eq, -lt.", "%s tests what is not here: there are no files", n.Op.String())
		}
		return nil
	case *syntax.CmdSubst:
		if n.TempFile || n.ReplyVar {
			return refused(n.Pos(), simpler, "this form of substitution is not known here")
		}
		return nil
	}
	return construct(node)
}

// construct lets pass what needs no look of its own, and refuses the rest.
func construct(node syntax.Node) *abi.Problem {
	switch n := node.(type) {
	case *syntax.File, *syntax.Comment, *syntax.BinaryCmd, *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.WhileClause, *syntax.CaseClause,
		*syntax.WordIter, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.BinaryArithm,
		*syntax.UnaryArithm, *syntax.ParenArithm, *syntax.TestClause, *syntax.ParenTest:
		return nil
	case *syntax.FuncDecl:
		return refused(n.Pos(), "Write the commands where they are needed.", "functions are not known here")
	case *syntax.ProcSubst:
		return refused(n.Pos(), "Use a pipe, or give the command blob:ID.", "process substitution is not known here")
	case *syntax.DeclClause:
		return refused(n.Pos(), "Set a variable as name=value; there is no environment to export to.", "%s is not known here", n.Variant.Value)
	case *syntax.LetClause:
		return refused(n.Pos(), "Write x=$((x + 1)).", "let is not known here")
	}
	return refused(node.Pos(), simpler, "this construct is not known here")
}

// own are the commands that the shell runs itself.
func own() []string { return []string{":", "[", "break", "continue", "exit", "read", "set"} }

func known() []string { return append(text.Names(), "read", "set", "break", "continue", "exit") }

func (j *judgement) call(c *syntax.CallExpr) *abi.Problem {
	if len(c.Args) == 0 {
		return nil
	}
	name, ok := firstWord(c)
	if !ok {
		return refused(c.Pos(), "Write the command itself.", "the name of a command must stand in the script, so that it can be judged before it runs")
	}
	if len(j.commands) < maxListed {
		j.commands = append(j.commands, j.script[c.Pos().Offset():c.End().Offset()])
	}
	if _, found := text.Find(name); found {
		return nil
	}
	if slices.Contains(own(), name) {
		return builtin(name, c)
	}
	return unknown(name, c)
}

// maxListed bounds the commands that a dry run tells.
const maxListed = 100

// builtin holds read to plain names of variables.
func builtin(name string, c *syntax.CallExpr) *abi.Problem {
	if name != "read" {
		return nil
	}
	for _, w := range c.Args[1:] {
		if text, ok := literalOf(w); !ok || text != "-r" && !syntax.ValidName(text) {
			return refused(w.Pos(), "Write read -r line, or read -r first rest.", "read knows -r and names of variables only")
		}
	}
	return nil
}

func unknown(name string, c *syntax.CallExpr) *abi.Problem {
	base := name[strings.LastIndexByte(name, '/')+1:]
	if why, hint := danger(base); why != "" {
		return refused(c.Pos(), hint, "%s %s", base, why)
	}
	p := sdk.Refuse(abi.NotFound, "%s: there is no command %.80q here", place(c.Pos()), name).WithField("script").
		WithHint("There are: %s.", strings.Join(known(), " "))
	if near := abi.Nearest(base, known(), 3); len(near) > 0 {
		p = p.WithCandidates(near...)
	}
	return p
}

// redirect lets a command read a blob or a text of the script, and drop or join
// what it writes.
func redirect(r *syntax.Redirect) *abi.Problem {
	target, plain := literalOf(r.Word)
	fd := ""
	if r.N != nil {
		fd = r.N.Value
	}
	switch r.Op {
	case syntax.RdrIn:
		_, isBlob := blobName(target)
		if fd == "" && (!plain || isBlob || target == "/dev/null") {
			return nil
		}
		return refused(r.Pos(), "Read a blob: < blob:ID, or give the command blob:ID.", "there are no files to read here")
	case syntax.WordHdoc, syntax.Hdoc, syntax.DashHdoc:
		if fd == "" {
			return nil
		}
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll:
		if plain && (fd == "" || fd == "1" || fd == "2") && (target == "/dev/null" || target == "/dev/stderr" || target == "/dev/stdout") {
			return nil
		}
		if strings.HasPrefix(target, "/dev/tcp") || strings.HasPrefix(target, "/dev/udp") {
			return refused(r.Pos(), noNetwork, "there is no network here")
		}
		return refused(r.Pos(), "Let it print: what a script prints is its result, and a long one is kept as a blob.", "there are no files to write here")
	case syntax.DplOut:
		if (fd == "" || fd == "1" || fd == "2") && (target == "1" || target == "2") {
			return nil
		}
	}
	return refused(r.Pos(), "Known are < blob:ID, <<< TEXT, << END, 2>&1, >&2, and > and 2> to /dev/null.", "this redirect is not known here")
}

// word refuses what a shell would make several words of, and this one does not.
func word(w *syntax.Word) *abi.Problem {
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.Contains(lit.Value, "{") {
			clone := *w
			clone.Parts = slices.Clone(w.Parts)
			if syntax.SplitBraces(&clone) {
				return refused(w.Pos(), "Quote it, list the words, or use seq.", "braces such as {1..5} and {a,b} are not known here")
			}
		}
	}
	return nil
}

// parameter holds expansions to those that are known, of variables that the
// script sets.
func (j *judgement) parameter(p *syntax.ParamExp) *abi.Problem {
	if p.Param == nil || p.Excl || p.Width || p.IsSet || p.Index != nil || p.Names != 0 || p.Flags != nil || p.NestedParam != nil || len(p.Modifiers) > 0 {
		return refused(p.Pos(), "Write $x, ${x:-other}, ${#x}, ${x#prefix}, ${x%suffix}, ${x/a/b} or ${x:0:5}.", "this expansion is not known here")
	}
	name := p.Param.Value
	if name == "?" {
		return nil
	}
	if !syntax.ValidName(name) {
		return refused(p.Pos(), "Set a variable in the script.", "$%s is not known here: a script has no arguments and no processes", name)
	}
	hasDefault := p.Exp != nil && (p.Exp.Op == syntax.DefaultUnset || p.Exp.Op == syntax.DefaultUnsetOrNull || p.Exp.Op == syntax.AlternateUnset || p.Exp.Op == syntax.AlternateUnsetOrNull)
	if p.Exp != nil && (p.Exp.Op == syntax.OtherParamOps || p.Exp.Op == syntax.ErrorUnset || p.Exp.Op == syntax.ErrorUnsetOrNull || p.Exp.Op == syntax.UpperFirst || p.Exp.Op == syntax.LowerFirst) {
		return refused(p.Pos(), "Use tr, sed or an if.", "this expansion is not known here")
	}
	if !j.set[name] && !hasDefault {
		return refused(p.Pos(), "Set it in the script: "+name+"=...; secrets are never readable.", "$%s is not set by the script, and there is no environment here", name)
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func decimal(v int64) string { return strconv.FormatInt(v, 10) }

// arithm gives the value of an expression, in 64 bits that wrap around.
func (s *shell) arithm(x syntax.ArithmExpr) (int64, error) {
	switch x := x.(type) {
	case nil:
		return 0, nil
	case *syntax.Word:
		return s.operand(x)
	case *syntax.ParenArithm:
		return s.arithm(x.X)
	case *syntax.UnaryArithm:
		return s.unary(x)
	case *syntax.BinaryArithm:
		return s.binaryArithm(x)
	}
	return 0, errors.New("this expression is not known here")
}

// operand gives a number, or that of the variable that is named.
func (s *shell) operand(w *syntax.Word) (int64, error) {
	text, err := s.text(w)
	if err != nil {
		return 0, err
	}
	if syntax.ValidName(text) {
		text = s.vars[text]
	}
	return s.number(text)
}

func (s *shell) number(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	if syntax.ValidName(text) {
		text = s.vars[text]
	}
	if base, digits, ok := strings.Cut(text, "#"); ok {
		n, err := strconv.Atoi(base)
		if err == nil && n >= 2 && n <= 36 {
			if v, err := strconv.ParseInt(digits, n, 64); err == nil {
				return v, nil
			}
		}
	}
	v, err := strconv.ParseInt(text, 0, 64)
	if err != nil || strings.ContainsAny(text, "_oObB") && !strings.HasPrefix(text, "0x") {
		return 0, fmt.Errorf("%.80q is no integer", text)
	}
	return v, nil
}

func (s *shell) unary(x *syntax.UnaryArithm) (int64, error) {
	v, err := s.arithm(x.X)
	if err != nil {
		return 0, err
	}
	switch x.Op {
	case syntax.Plus:
		return v, nil
	case syntax.Minus:
		return -v, nil
	case syntax.Not:
		return oneIf(v == 0), nil
	case syntax.BitNegation:
		return ^v, nil
	}
	after := v + 1 // ++
	if x.Op == syntax.Dec {
		after = v - 1
	}
	s.assign(arithmName(x.X), decimal(after))
	if x.Post {
		return v, nil
	}
	return after, nil
}

func oneIf(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

func (s *shell) binaryArithm(x *syntax.BinaryArithm) (int64, error) {
	switch x.Op {
	case syntax.TernQuest:
		return s.ternary(x)
	case syntax.AndArit, syntax.OrArit:
		a, err := s.arithm(x.X)
		if err != nil || (a != 0) == (x.Op == syntax.OrArit) {
			return oneIf(a != 0), err
		}
		b, err := s.arithm(x.Y)
		return oneIf(b != 0), err
	}
	a, errA := int64(0), error(nil)
	if x.Op != syntax.Assgn {
		a, errA = s.arithm(x.X)
	}
	b, errB := s.arithm(x.Y)
	if err := firstOf(errA, errB); err != nil {
		return 0, err
	}
	if x.Op == syntax.Assgn {
		s.assign(arithmName(x.X), decimal(b))
		return b, nil
	}
	v, err := compute(plainOp(x.Op), a, b)
	if err == nil && isAssignment(x.Op) {
		s.assign(arithmName(x.X), decimal(v))
	}
	return v, err
}

func (s *shell) ternary(x *syntax.BinaryArithm) (int64, error) {
	is, err := s.arithm(x.X)
	branches, ok := x.Y.(*syntax.BinaryArithm)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, errors.New("this expression is not known here")
	case is != 0:
		return s.arithm(branches.X)
	}
	return s.arithm(branches.Y)
}

func isAssignment(op syntax.BinAritOperator) bool {
	return op == syntax.Assgn || plainOp(op) != op
}

// plainOp gives + for +=, and so on.
func plainOp(op syntax.BinAritOperator) syntax.BinAritOperator {
	switch op {
	case syntax.AddAssgn:
		return syntax.Add
	case syntax.SubAssgn:
		return syntax.Sub
	case syntax.MulAssgn:
		return syntax.Mul
	case syntax.QuoAssgn:
		return syntax.Quo
	case syntax.RemAssgn:
		return syntax.Rem
	case syntax.AndAssgn:
		return syntax.And
	case syntax.OrAssgn:
		return syntax.Or
	case syntax.XorAssgn:
		return syntax.Xor
	case syntax.ShlAssgn:
		return syntax.Shl
	case syntax.ShrAssgn:
		return syntax.Shr
	}
	return op
}

func compute(op syntax.BinAritOperator, a, b int64) (int64, error) {
	switch op {
	case syntax.Add:
		return a + b, nil
	case syntax.Sub:
		return a - b, nil
	case syntax.Mul:
		return a * b, nil
	case syntax.Quo, syntax.Rem:
		if b == 0 {
			return 0, errors.New("division by 0")
		}
		if op == syntax.Rem {
			return a % b, nil
		}
		return a / b, nil
	case syntax.Pow:
		return power(a, b)
	case syntax.And:
		return a & b, nil
	case syntax.Or:
		return a | b, nil
	case syntax.Xor:
		return a ^ b, nil
	case syntax.Shl:
		return a << (uint64(b) & 63), nil
	case syntax.Shr:
		return a >> (uint64(b) & 63), nil
	case syntax.Comma:
		return b, nil
	}
	return comparison(op, a, b)
}

func comparison(op syntax.BinAritOperator, a, b int64) (int64, error) {
	switch op {
	case syntax.Eql:
		return oneIf(a == b), nil
	case syntax.Neq:
		return oneIf(a != b), nil
	case syntax.Lss:
		return oneIf(a < b), nil
	case syntax.Gtr:
		return oneIf(a > b), nil
	case syntax.Leq:
		return oneIf(a <= b), nil
	case syntax.Geq:
		return oneIf(a >= b), nil
	}
	return 0, fmt.Errorf("%s is not known here", op.String())
}

func power(a, b int64) (int64, error) {
	if b < 0 {
		return 0, errors.New("an exponent is less than 0")
	}
	v := int64(1)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			v *= a
		}
		a *= a
	}
	return v, nil
}

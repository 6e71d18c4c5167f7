package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bounds of an expression. The longest of 96 that a model wrote has 190
// characters and nests two deep.
const (
	maxExpressionBytes = 10_000
	maxExpressionDepth = 100
)

// evaluate works out an expression of digits, + - * / ( ) . and spaces, with
// the usual precedence, in float64. It gives the result rounded to two
// decimals, half to even on the exact binary value, as a decimal number with
// at least one decimal: "305.0", "-42.75". From 1e16 on it has an exponent.
func evaluate(expression string) (string, error) {
	if strings.ContainsFunc(expression, isForeign) {
		return "", errors.New("invalid characters in expression")
	}
	if len(expression) > maxExpressionBytes {
		return "", fmt.Errorf("the expression has %d characters; it may have %d", len(expression), maxExpressionBytes)
	}
	p := parser{text: expression}
	v, err := p.sum(0)
	if err == nil && p.next() != 0 {
		err = p.unexpected()
	}
	if err != nil {
		return "", err
	}
	return decimal(v.float)
}

func isForeign(r rune) bool { return !strings.ContainsRune("0123456789+-*/(). ", r) }

// decimal rounds and writes a result.
func decimal(f float64) (string, error) {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', 2, 64), 64)
	if err != nil || math.IsInf(rounded, 0) || math.IsNaN(rounded) {
		return "", errors.New("the result is too large")
	}
	if math.Abs(rounded) >= 1e16 {
		return strconv.FormatFloat(rounded, 'e', -1, 64), nil
	}
	text := strconv.FormatFloat(rounded, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text, nil
}

// A value is a number of an expression. Whole numbers have no negative zero.
type value struct {
	float float64
	whole bool // made of whole numbers without a division
}

func number(f float64, whole bool) value {
	if whole {
		f += 0 // turns -0 into 0
	}
	return value{f, whole}
}

// A parser reads an expression from left to right, by descent.
type parser struct {
	text string
	pos  int
}

// sum reads products joined by + and -.
func (p *parser) sum(depth int) (value, error) {
	if depth > maxExpressionDepth {
		return value{}, fmt.Errorf("the parentheses are nested deeper than %d", maxExpressionDepth)
	}
	left, err := p.product(depth)
	for err == nil {
		operator := p.next()
		if operator != '+' && operator != '-' {
			break
		}
		p.pos++
		var right value
		if right, err = p.product(depth); operator == '-' {
			right.float = -right.float
		}
		left = number(left.float+right.float, left.whole && right.whole)
	}
	return left, err
}

// product reads factors joined by * and /.
func (p *parser) product(depth int) (value, error) {
	left, err := p.factor(depth)
	for err == nil {
		operator := p.next()
		if operator != '*' && operator != '/' {
			break
		}
		p.pos++
		var right value
		if right, err = p.factor(depth); err != nil {
			break
		}
		if operator == '*' {
			left = number(left.float*right.float, left.whole && right.whole)
		} else if right.float == 0 {
			err = errors.New("division by zero")
		} else {
			left = number(left.float/right.float, false)
		}
	}
	return left, err
}

// factor reads a number or a sum in parentheses, with any signs before it.
func (p *parser) factor(depth int) (v value, err error) {
	negative := false
	for p.next() == '+' || p.next() == '-' {
		negative = negative != (p.next() == '-')
		p.pos++
	}
	if p.next() == '(' {
		p.pos++
		if v, err = p.sum(depth + 1); err == nil && p.next() != ')' {
			err = p.unexpected()
		}
		p.pos++
	} else {
		v, err = p.number()
	}
	if negative {
		v = number(-v.float, v.whole)
	}
	return v, err
}

// number reads digits with at most one point.
func (p *parser) number() (value, error) {
	p.next()
	start := p.pos
	p.digits()
	whole := !strings.HasPrefix(p.text[p.pos:], ".")
	if !whole {
		p.pos++
		p.digits()
	}
	text := p.text[start:p.pos]
	if strings.Trim(text, ".") == "" {
		p.pos = start
		return value{}, p.unexpected()
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return value{}, fmt.Errorf("the number at character %d is too large", start+1)
	}
	return number(f, whole), nil
}

func (p *parser) digits() {
	for p.pos < len(p.text) && '0' <= p.text[p.pos] && p.text[p.pos] <= '9' {
		p.pos++
	}
}

// next gives the next character that is not a space, or 0 at the end.
func (p *parser) next() byte {
	for p.pos < len(p.text) && p.text[p.pos] == ' ' {
		p.pos++
	}
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *parser) unexpected() error {
	if p.next() == 0 {
		return errors.New("the expression ends too early")
	}
	return fmt.Errorf("unexpected %q at character %d", p.text[p.pos], p.pos+1)
}

package main

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestEvaluate(t *testing.T) {
	for _, tt := range []struct{ expression, want string }{
		{"152 + 103", "255.0"},
		{"(136 - (94 + 80)) * 3", "-114.0"},
		{"(350 - 122) * 2 + (499 - 127) * 2", "1200.0"},
		{"2+3*4", "14.0"},
		{"2*3+4", "10.0"},
		{"10-4-3", "3.0"},
		{"100/10/5", "2.0"},
		{"-42.75", "-42.75"},
		{"--5", "5.0"},
		{"-+-+5", "5.0"},
		{"2*-3", "-6.0"},
		{"-(2+3)", "-5.0"},
		{" ( 1 ) ", "1.0"},
		{"1.", "1.0"},
		{".5", "0.5"},
		{"007.50", "7.5"},
		{"100/3", "33.33"},
		{"0.125", "0.12"},  // a tie goes to the even digit
		{"0.375", "0.38"},  // likewise
		{"2.675", "2.67"},  // below the tie in binary
		{"1.005", "1.0"},   // likewise
		{"0.1+0.2", "0.3"}, // rounded
		{"0*-1", "0.0"},    // whole numbers have no negative zero
		{"-0", "0.0"},      // likewise
		{"-0.001", "-0.0"}, // but a decimal that rounds to nothing keeps its sign
		{"0/5*-1", "-0.0"}, // likewise after a division
		{"1/4+1/4", "0.5"}, // a division is never whole
		{"1" + strings.Repeat("0", 15), "1000000000000000.0"},
		{"1" + strings.Repeat("0", 16), "1e+16"},
		{"(" + strings.Repeat("(", 99) + "7" + strings.Repeat(")", 100), "7.0"},
	} {
		if got, err := evaluate(tt.expression); err != nil || got != tt.want {
			t.Errorf("evaluate(%q) = %q, %v, want %q", tt.expression, got, err, tt.want)
		}
	}
}

func TestEvaluateRefuses(t *testing.T) {
	for _, tt := range []struct{ name, expression, want string }{
		{"letters", "__import__", "invalid characters in expression"},
		{"a comma", "1,000", "invalid characters in expression"},
		{"a line break", "1\n+1", "invalid characters in expression"},
		{"digits of another script", "１+1", "invalid characters in expression"},
		{"nothing", "", "the expression ends too early"},
		{"only spaces", "   ", "the expression ends too early"},
		{"an operator at the end", "1 +", "the expression ends too early"},
		{"an open parenthesis", "(1 + 2", "the expression ends too early"},
		{"empty parentheses", "()", `unexpected ')' at character 2`},
		{"a closed one too many", "1)", `unexpected ')' at character 2`},
		{"two numbers", "1 2", `unexpected '2' at character 3`},
		{"a product without a sign", "2(3)", `unexpected '(' at character 2`},
		{"a power", "2**3", `unexpected '*' at character 3`},
		{"a floor division", "7//2", `unexpected '/' at character 3`},
		{"two points", "1.2.3", `unexpected '.' at character 4`},
		{"a point alone", "1 + .", `unexpected '.' at character 5`},
		{"a division by zero", "1 / (2 - 2)", "division by zero"},
		{"a division by a decimal zero", "1 / 0.0", "division by zero"},
		{"an overflow", strings.Repeat("9", 200) + "*" + strings.Repeat("9", 200), "the result is too large"},
		{"a huge number", strings.Repeat("9", 400), "the number at character 1 is too large"},
		{"deep nesting", strings.Repeat("(", 101) + "1" + strings.Repeat(")", 101), "the parentheses are nested deeper than 100"},
		{"a long text", strings.Repeat("1+", 5000) + "1", "the expression has 10001 characters; it may have 10000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := evaluate(tt.expression); err == nil || err.Error() != tt.want {
				t.Errorf("evaluate(%.40q) = %q, %v, want the error %q", tt.expression, got, err, tt.want)
			}
		})
	}
}

func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{"1+1", "(2*3)/4-5", "-.5", "((1)", "1..2", "1/0", "9e9", "--+-1", "2 2", "(", "0.125"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		text, err := evaluate(expression)
		if err != nil {
			return
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("evaluate(%q) = %q, which is not a finite number", expression, text)
		}
		if !strings.ContainsAny(text, ".e") {
			t.Fatalf("evaluate(%q) = %q, which has no decimal", expression, text)
		}
		if again, err := evaluate("(" + expression + ")"); err != nil && !strings.Contains(err.Error(), "nested deeper") && len(expression) < maxExpressionBytes-2 || err == nil && again != text {
			t.Fatalf("in parentheses %q gives %q, %v, not %q", expression, again, err, text)
		}
	})
}
